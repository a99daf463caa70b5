"""Recall and precision of memory entries, labelled by hand: title → questions that need the entry.

The weights were chosen with the questions of TUNED; those of HELD are held out.
"""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from promptls.index.search.analyzer import tokenize
from promptls.knowledge.memory_requests import rank_entries
from promptls.knowledge.memory_store import MemoryEntry

NOW = datetime(2030, 1, 1, tzinfo=timezone.utc)

ENTRIES = """
Money is stored in cents | Amounts are integers in cents; the Money class rounds half up. Never use floats for prices. | money, prices
Production database | PostgreSQL 15 behind pgbouncer in transaction mode, so no prepared statements and no advisory locks. | postgres
Login sessions | A session cookie lives 15 minutes and is renewed by every request; refresh tokens rotate. | auth
Stripe webhooks arrive twice | Handlers must be idempotent: the event id is the key, kept for 30 days in Redis. | payments
Flaky tests of the scheduler | test_scheduler depends on the wall clock. Freeze time with time-machine or it fails around midnight. | testing
Releases | Tag vX.Y.Z on main; the workflow publishes to PyPI. The changelog must be edited first. | release
Front end stack | React 18 with Vite, state in Zustand, no Redux. Components live in web/src/components. | web
Feature flags | LaunchDarkly is gone. Flags are rows of the table feature_flags, cached for a minute. | flags
Search is Elasticsearch 8 | Index names carry the date; the alias products_live points at the current one. | search
Docker images | Multi-stage build on distroless; no shell in production, so debug with an ephemeral container. | deployment
Background jobs | Celery with RabbitMQ. Long tasks go to the queue slow; retries are exponential with jitter. | queue
E-mail is sent by Postmark | Templates live in emails/; preview with make preview-mail. | mail
Time zones | All timestamps are UTC in the database and are converted in the browser. | dates
Rate limits | 100 requests a minute for each API key, by a token bucket in Redis; 429 with Retry-After. | api
GraphQL was abandoned | We tried GraphQL in 2022; caching was too hard. The API is REST with OpenAPI. | api
Memory leak in the image resizer | Pillow kept file handles; always close images with a context manager. | images
Currency conversion | Rates come from the ECB once a day; the job rates_import stores them in fx_rates. | money
Permissions | Roles are owner, editor and viewer; check with can(user, action, resource) in access.py. | auth
Logging | structlog with JSON output; never log personal data, request ids are bound in middleware. | observability
CSV import | Files come in Windows-1252 from the old ERP; detect the encoding with charset-normalizer. | import
Mobile app | Kotlin Multiplatform; the iOS part is built by Bitrise. | ios, android
Translations | Strings are extracted with Babel, translators work in Weblate; never concatenate sentences. | i18n
Address validation | Done by the Loqate API; its sandbox key fails for Irish postcodes. | address
Migrations | Alembic; never drop a column in the same release that stops using it. | schema, postgres
"""

TUNED = """
why does the session expire after a quarter of an hour? | Login sessions
how are prices rounded in the cart? | Money is stored in cents
a webhook of stripe was processed twice, what now? | Stripe webhooks arrive twice
can I use a prepared statement with postgres here? | Production database
test_scheduler fails on CI at night | Flaky tests of the scheduler
how do I publish a release to PyPI? | Releases
where do I add a React component? | Front end stack
add a feature flag for the new checkout | Feature flags
which index does the product search use? | Search is Elasticsearch 8
get a shell in the production docker container | Docker images
why is this celery task retried so often? | Background jobs
write a haiku about the sea |
what does this function return? |
fix the bug in this file |
explain the code of the parser |
rename the variable x in utils.py |
how is the graph of imports built? |
add a test for the tokenizer |
"""

HELD = """
change the template of the welcome e-mail | E-mail is sent by Postmark
the timestamp is shown in the wrong time zone | Time zones
clients get 429 although they stay under the rate limit | Rate limits
why do we have no GraphQL endpoint? | GraphQL was abandoned
the image resizer uses more and more memory | Memory leak in the image resizer
when are exchange rates of the ECB imported? | Currency conversion
how do I check that a viewer has no permission to delete? | Permissions
log the request id with structlog | Logging
umlauts are broken after the csv import | CSV import
which CI builds the iOS app? | Mobile app
add a german translation for the button | Translations
the postcode of an Irish customer is refused by address validation | Address validation
write an alembic migration that drops a column | Migrations
are amounts floats or cents? | Money is stored in cents
refactor the loop in matrix.py to use numpy |
tell me a joke |
what is the type of the second argument? |
improve the readme |
how does the lexer handle strings? |
why is the build slow? |
implement quicksort in rust |
show me the main entry point |
"""


def corpus() -> list[MemoryEntry]:
    out = []
    for number, row in enumerate(ENTRIES.strip().splitlines()):
        title, content, tags = (part.strip() for part in row.split(" | "))
        labels = tuple(tag.strip() for tag in tags.split(","))
        out.append(
            MemoryEntry(
                id=f"e{number}",
                category="knowledge",
                title=title,
                content=content,
                tags=labels,
                created=NOW,
                updated=NOW,
            )
        )
    return out


def evaluate(rows: str) -> tuple[float, float, list[str]]:
    """Return recall, precision, and the errors."""
    needed = returned = correct = 0
    errors: list[str] = []
    for row in rows.strip().splitlines():
        question, _, title = (part.strip() for part in row.partition("|"))
        titles = [hit.entry.title for hit in rank_entries(corpus(), tokenize(question), (), NOW)]
        needed += bool(title)
        returned += len(titles)
        correct += title in titles
        errors += [f"{question}: without {title}"] if title and title not in titles else []
        errors += [f"{question}: with {other}" for other in titles if other != title]
    return correct / needed, correct / max(1, returned), errors


@pytest.mark.parametrize(("rows", "recall", "precision"), [(TUNED, 0.9, 0.8), (HELD, 0.9, 0.8)])
def test_relevant_memories_are_found_with_few_others(rows: str, recall: float, precision: float) -> None:
    got_recall, got_precision, errors = evaluate(rows)
    assert got_recall >= recall and got_precision >= precision, "\n".join(errors)


def test_questions_without_relevant_memory_get_none() -> None:
    for row in [*TUNED.strip().splitlines(), *HELD.strip().splitlines()]:
        question, _, title = (part.strip() for part in row.partition("|"))
        if not title:
            assert rank_entries(corpus(), tokenize(question), (), NOW) == [], question
