"""Code of other repositories in a prompt: hits of the team index as items with their own share of the budget.

The search runs while the open folders are searched. Its hits are shown after local code, and trimmed before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from promptls.mentions.context import ResolveContext
from promptls.mentions.resolvers.team import add_hits
from promptls.model import FileText, Item, Origin
from promptls.prompt.context.implicit import Candidates
from promptls.prompt.context.query_understanding import QueryUnderstanding
from promptls.prompt.options import PromptOptions
from promptls.prompt.packing.pack import PackedItem, PackingCandidate, PackResult, pack
from promptls.prompt.rendering.forms import item_forms
from promptls.prompt.rendering.renderer import Renderer
from promptls.retrieval.linear_model import LogisticModel
from promptls.retrieval.team_source import PendingAnswer, TeamAnswer, TeamHit

MIN_RELATIVE_SCORE = 0.1
"""Minimum score of a hit as a share of the best one."""
MAX_ITEMS = 24
"""Maximum number of hits in a prompt."""
MARGIN_HITS = 3
"""Best hits and chunks of which the mean similarity is compared."""
MIN_PROBABILITY = 1e-4
"""Bound of the probability of local code, whose logarithm counts."""
NAMED_WEIGHT = 2.0
"""Weight of the fact that the question names a repository that is not open. Not fitted: no question of the development
data names a dependency of an open folder."""
MIN_NEED = 0.3
"""Probability below which the prompt contains no hits."""
NEED_EXPONENT = 3.0
"""Exponent of the probability in the share of the budget: doubtful hits displace little local code."""
UNKNOWN_NEED = 0.5
"""Probability without vectors."""


class Search(Struct, frozen=True):
    """A running search, and the similarity of local code to the question."""

    pending: PendingAnswer
    local_similarity: float | None  # None without vectors
    local_chunks: int


class TeamContext(Struct, frozen=True):
    """Candidates of other repositories, best first, and a warning if the search failed."""

    items: tuple[tuple[Item, FileText], ...] = ()
    share: float = 0.0  # of the budget
    warnings: tuple[str, ...] = ()


def start(understanding: QueryUnderstanding, options: PromptOptions, context: ResolveContext) -> Search | None:
    """Start the search, None if there is no team index or the question needs no code."""
    team, intent = context.services.team, understanding.intent
    if team is None or not options.profile.keeps_retrieval_scores:
        return None
    if not options.includes("retrieval") or not intent.about_codebase or not intent.query.terms:
        return None
    query = intent.query
    vector = context.index.query_vector(query.text) if query.text.strip() else None
    pending = team.start_search(query, context.index.query_vector, [root.path for root in context.snapshot.roots])
    similarity = None if vector is None else _local_similarity(vector, context)
    return Search(pending, similarity, len(context.index.reader()))


def finish(search: Search | None, local: Candidates, context: ResolveContext) -> TeamContext:
    """Wait for the hits, and drop those whose text is local; the share depends on how likely they are needed."""
    team = context.services.team
    if search is None or team is None:
        return TeamContext()
    answer = search.pending()
    warnings = (answer.problem,) if answer.problem else ()
    features = need_features(answer, search, local)
    need = UNKNOWN_NEED if features is None else _need(team.weights.need, features, answer.hits)
    texts = {retrieved.text.strip() for retrieved in local.items}
    hits = [hit for hit in answer.hits if hit.text.strip() not in texts]
    best = max((hit.score for hit in hits), default=0.0)
    relevant = [hit for hit in hits if hit.score >= MIN_RELATIVE_SCORE * best][:MAX_ITEMS]
    items = add_hits(relevant, context, Origin.TEAM) if need >= MIN_NEED else []
    return TeamContext(tuple(items), team.share * need**NEED_EXPONENT, warnings)


def _local_similarity(vector: NDArray[np.float32], context: ResolveContext) -> float:
    """Return the mean similarity of the best local chunks."""
    reader = context.index.reader()
    return _mean_of_best(reader.start_similarity_search(vector)())


def need_features(answer: TeamAnswer, search: Search, local: Candidates) -> dict[str, float] | None:
    """Return the evidence that the answer is in a repository that is not open, None without vectors.

    It consists of the difference of the similarities of the best hits and of the best local chunks, the log odds of the best
    local item, and the logarithm of the ratio of local chunks to those of the index: the best of many chunks is
    similar by chance.
    """
    similarity = _mean_of_best(np.array([hit.similarity for hit in answer.hits], np.float32))
    if search.local_similarity is None or similarity <= 0:
        return None
    scores = [*(r.item.score for r in local.items), *(dropped.item.score for dropped in local.below)]
    best = min(max(max(scores, default=0.0), MIN_PROBABILITY), 1 - MIN_PROBABILITY)
    return {
        "similarity_margin": similarity - search.local_similarity,
        "local_evidence": math.log(best / (1 - best)),
        "size_ratio": math.log(max(1, search.local_chunks) / max(1, answer.chunks)),
    }


def _need(model: LogisticModel, features: dict[str, float], hits: Sequence[TeamHit]) -> float:
    """Return the probability that the answer needs code that is not open."""
    return 1 / (1 + math.exp(-(model.log_odds(features) + NAMED_WEIGHT * any(hit.is_named for hit in hits))))


def _mean_of_best(similarity: NDArray[np.float32]) -> float:
    best = np.sort(similarity)[-MARGIN_HITS:]
    return float(best.mean()) if len(best) else 0.0


def pack_with_team(
    pack_local: Callable[[int], PackResult], team: TeamContext, budget: int, first_rank: int, renderer: Renderer
) -> PackResult:
    """Pack hits into their share of the budget, and local code into the rest.

    Args:
        pack_local: Packs local code into a number of tokens.
        team: The hits.
        budget: Tokens for both.
        first_rank: Rank of the first hit, after all local candidates.
        renderer: Renders the hits.
    """
    candidates = [PackingCandidate(item_forms(item, file, renderer)) for item, file in team.items]
    others = pack((), candidates, int(team.share * budget)) if candidates else PackResult()
    local = pack_local(budget - others.tokens)
    items = (_shifted(packed, first_rank) for packed in others.items)
    return PackResult((*local.items, *items), (*local.omitted, *others.omitted))


def _shifted(packed: PackedItem, by: int) -> PackedItem:
    """Return a packed item with later ranks."""
    parts = tuple(replace(p, sources=tuple((rank + by, item) for rank, item in p.sources)) for p in packed.parts)
    return replace(packed, parts=parts)
