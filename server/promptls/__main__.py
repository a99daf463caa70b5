"""The command line: serve, prompt, search, index, status, doctor.

Exit codes: 0 done, 1 something is wrong (the sentence on stderr says what), 2 the call cannot be served as
it stands, 130 interrupted.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls import __version__
from promptls.index.workers.spawn import start_ahead

if TYPE_CHECKING:
    from promptls.engine import Engine

DONE, WRONG, USAGE, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """A call that cannot be served; the text is one sentence for the user."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    _speak_utf8()
    options = _parser().parse_args(arguments)
    _log_to_file(options.verbose)
    try:
        code = int(options.run(options))
        if not sys.stdout.closed:
            sys.stdout.flush()  # while there is somebody to tell what goes wrong
        return code
    except UsageError as error:
        print(f"promptls: {error}", file=sys.stderr)
        return USAGE
    except ImportError as error:
        logging.getLogger(__name__).exception("a package cannot be imported")
        print(
            f"promptls: a package that it needs cannot be imported ({error}); `promptls doctor` tells how to mend it.",
            file=sys.stderr,
        )
        return WRONG
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _say_no_more()
        return DONE
    except OSError as error:
        _say_no_more()
        logging.getLogger(__name__).exception("a command failed")
        where = f" ({error.filename})" if error.filename else ""
        print(f"promptls: the system says: {error.strerror or error}{where}; see {_log_name()}.", file=sys.stderr)
        return WRONG


def _say_no_more() -> None:
    """Output that cannot be written stays in the buffer, and the interpreter would try it again as it ends: exit code 120."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _speak_utf8() -> None:
    """Prompts hold any character: what is no terminal gets UTF-8, and nothing that cannot be said ends a command."""
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        if isinstance(stream, io.TextIOWrapper):
            named = stream.isatty() or "PYTHONIOENCODING" in os.environ
            stream.reconfigure(encoding=None if named else "utf-8", errors="backslashreplace")


def _log_name() -> str:
    from promptls.settings import log_file

    return str(log_file())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="promptls", description="The prompt language server.")
    parser.add_argument("--version", action="version", version=f"promptls {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="log to stderr as well")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="speak LSP over stdin and stdout")
    serve.add_argument("--tcp", metavar="HOST:PORT", help="listen on a loopback address instead (for debugging)")
    serve.add_argument("--stdio", action="store_true", help="the default, for clients that insist on saying it")
    serve.set_defaults(run=_serve)

    prompt = commands.add_parser("prompt", help="print the prompt for a question")
    prompt.add_argument("message", help='the question, @-mentions included; "-" reads it from stdin')
    prompt.add_argument("--budget", type=int, metavar="TOKENS", help="hard limit of the whole prompt")
    prompt.add_argument("--model", help="take the budget of this model")
    prompt.add_argument("--counter", help="how tokens are counted: auto, estimate, chars4")
    prompt.add_argument("--variant", help="baseline, strict, citation or anti_prior")
    prompt.add_argument("--profile", help="constants and stages of the pipeline: default or a seed system's")
    prompt.add_argument("--recipe", help="a named task to put before the message; promptls recipes lists them")
    prompt.add_argument(
        "--argument", action="append", default=[], metavar="NAME=TEXT", help="of the recipe; may be given several times"
    )
    prompt.add_argument("--output", default="text", help="text or messages")
    _common(prompt)
    prompt.set_defaults(run=_prompt)

    search = commands.add_parser("search", help="print ranked regions for a question")
    search.add_argument("query")
    search.add_argument("--limit", type=int, default=10)
    _common(search)
    search.set_defaults(run=_search)

    graph = commands.add_parser("graph", help="print the knowledge graph around a question, a symbol or a file")
    graph.add_argument("query", nargs="?", help="a question in words")
    graph.add_argument("--symbol", help="around this definition")
    graph.add_argument("--from", dest="from_", metavar="SYMBOL", help="call paths from this definition …")
    graph.add_argument("--to", metavar="SYMBOL", help="… to this one")
    graph.add_argument("--limit", type=int, default=15)
    _common(graph)
    graph.set_defaults(run=_graph)

    explain = commands.add_parser("explain", help="print what is known of a file or definition")
    explain.add_argument("symbol", help="a path, path:name or Class.method")
    _common(explain)
    explain.set_defaults(run=_explain)

    memory = commands.add_parser("memory", help="list, add, search, update or remove what promptls remembers")
    memory.add_argument("action", choices=("add", "list", "remove", "search", "update"))
    memory.add_argument("text", nargs="?", default="", help="add, update: the content; search: the query")
    memory.add_argument("--id", default="", help="of the entry to update or remove")
    memory.add_argument("--title", help="add: the first line of the content without one")
    memory.add_argument("--category", help="knowledge, rule or experience")
    memory.add_argument("--scope", default="", help="user or workspace")
    memory.add_argument("--expires", help="days, or a date such as 2030-01-31")
    _common(memory)
    memory.set_defaults(run=_memory)

    recipes = commands.add_parser("recipes", help="list the named tasks")
    _common(recipes)
    recipes.set_defaults(run=_recipes)

    index = commands.add_parser("index", help="bring the index up to date")
    index.add_argument("--full", action="store_true", help="outline every file again")
    _common(index)
    index.set_defaults(run=_index)

    status = commands.add_parser("status", help="tell what the index holds and what it has not seen yet")
    _common(status)
    status.set_defaults(run=_status)

    doctor = commands.add_parser("doctor", help="tell what is installed, what is wrong and how to mend it")
    doctor.add_argument("--json", action="store_true", help="as JSON")
    doctor.set_defaults(run=_doctor)
    return parser


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", action="append", metavar="DIR", help="workspace folder (default: here); may be given several times"
    )
    parser.add_argument("--json", action="store_true", help="print exactly the protocol's result")


def _log_to_file(verbose: bool) -> None:
    from promptls.settings import log_file

    handlers: list[logging.Handler] = []
    try:
        log_file().parent.mkdir(parents=True, exist_ok=True)
        handlers.append(
            RotatingFileHandler(log_file(), maxBytes=2_000_000, backupCount=1, encoding="utf-8", delay=True)
        )
    except OSError:
        pass  # no place to log to is no reason not to work
    if verbose:
        handlers.append(logging.StreamHandler(sys.stderr))
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s",
        handlers=handlers or [logging.NullHandler()],
    )
    logging.getLogger("pygls").setLevel(logging.CRITICAL)


# ---- commands


def _serve(options: argparse.Namespace) -> int:
    from promptls.index.workers.memory import be_frugal

    start_ahead()
    be_frugal()
    _tell_stacks()
    from promptls.lsp import serve_stdio, serve_tcp

    if not options.tcp:
        return serve_stdio()
    host, _, port = options.tcp.rpartition(":")
    if not _is_number(port) or int(port) > 65535 or host not in ("127.0.0.1", "localhost", "::1", "[::1]"):
        raise UsageError(f"--tcp takes a loopback address and a port, such as 127.0.0.1:2087, not {options.tcp!r}.")
    try:
        return serve_tcp(host.strip("[]"), int(port))
    except OSError as error:
        raise UsageError(
            f"{options.tcp} cannot be listened on: {error.strerror or error}; name another port."
        ) from None


def _tell_stacks() -> None:
    """Where there are signals, SIGUSR1 has the server print on stderr what each of its threads is at."""
    if hasattr(faulthandler, "register"):
        with suppress(OSError, RuntimeError, ValueError):  # there is no stderr
            faulthandler.register(signal.SIGUSR1)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _prompt(options: argparse.Namespace) -> int:
    message = sys.stdin.read() if options.message == "-" else options.message
    budget = {"tokens": options.budget, "model": options.model, "counter": options.counter}
    params: dict[str, Any] = {
        "message": message,
        "budget": {k: v for k, v in budget.items() if v is not None},
        "output": options.output,
    }
    params |= {k: v for k in ("variant", "profile", "recipe") if (v := getattr(options, k))}
    for pair in options.argument:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"--argument takes NAME=TEXT, not {pair!r}.")
        params.setdefault("arguments", {})[name] = text
    with _answer(options, "promptls/buildPrompt", params) as result:
        if options.json:
            _print_json(result)
        else:
            messages = result.get("messages")
            print(json.dumps(messages, indent=2, ensure_ascii=False) if messages else result["prompt"], flush=True)
            _summary(result)
    return DONE


def _summary(result: dict[str, Any]) -> None:
    """What went in, on stderr."""
    tokens = result["tokens"]
    lines = [f"{tokens['used']:,} of {tokens['budget']:,} tokens ({tokens['counter']})"]
    for item in result["items"]:
        where = f"{item['path']}:{item['range']['start']['line'] + 1}-{item['range']['end']['line']}"
        lines.append(f"  {item['tokens']:>6,}  {item['form']:<9} {item['origin']:<8} {where}  {item.get('symbol', '')}")
    for mention in result["mentions"]:
        if mention["status"] != "included":
            lines.append(f"  {mention['text']}: {mention['status']}. {mention['reason']}".rstrip())
    lines.append(result["trace"]["line"])
    lines += [f"warning: {warning}" for warning in result["warnings"]]
    print("\n".join(lines), file=sys.stderr)


def _search(options: argparse.Namespace) -> int:
    params = {"query": options.query, "limit": options.limit}
    with _answer(options, "promptls/search", params) as result:
        if options.json:
            _print_json(result)
            return DONE
        for hit in result["hits"]:
            place = f"{hit['path']}:{hit['range']['start']['line'] + 1}-{hit['range']['end']['line']}"
            print(f"{hit['score']:.3f}  {place}  {hit['kind']} {hit.get('symbol', '')}".rstrip())
    return DONE


def _graph(options: argparse.Namespace) -> int:
    wanted = {"query": options.query, "symbol": options.symbol, "from": options.from_, "to": options.to}
    params = {"limit": options.limit, **{k: v for k, v in wanted.items() if v is not None}}
    with _answer(options, "promptls/graph", params) as result:
        _print_json(result) if options.json else print(result["markdown"])
    return DONE


def _explain(options: argparse.Namespace) -> int:
    with _answer(options, "promptls/explain", {"symbol": options.symbol}) as result:
        _print_json(result) if options.json else print(result["markdown"])
    return DONE if result["found"] else WRONG


def _memory(options: argparse.Namespace) -> int:
    action, text = options.action, options.text
    params: dict[str, Any] = {"action": action, "id": options.id, "scope": options.scope}
    if action == "search":
        params["query"] = text
    elif text:
        params["content"] = text
    if action == "add":
        params |= {"title": options.title or text.strip().split("\n", 1)[0][:120], "category": "knowledge"}
    given = {"title": options.title, "category": options.category}
    params |= {k: v for k, v in given.items() if v is not None}
    if options.expires is not None:
        params["expires"] = int(options.expires) if _is_number(options.expires) else options.expires
    with _answer(options, "promptls/memory", params, indexed=False) as result:
        if options.json:
            _print_json(result)
            return DONE
        for entry in result["entries"]:
            print(f"{entry['id']}  {entry['scope']:<9} [{entry['category']}] {entry['title']}: {entry['content']}")
        for warning in result["warnings"]:
            print(f"promptls: {warning}", file=sys.stderr)
    return DONE


def _recipes(options: argparse.Namespace) -> int:
    with _answer(options, "promptls/recipes", {}) as result:
        if options.json:
            _print_json(result)
            return DONE
        for recipe in result["recipes"]:
            arguments = " ".join(f"{a['name']}{'' if a['required'] else '?'}" for a in recipe["arguments"])
            print(f"{recipe['name']:<20} {recipe['description']}{f' ({arguments})' if arguments else ''}")
        for warning in result["warnings"]:
            print(f"promptls: {warning}", file=sys.stderr)
    return DONE


def _index(options: argparse.Namespace) -> int:
    start_ahead()
    from promptls.api import index
    from promptls.api import params as protocol
    from promptls.model import CancelToken

    engine = _engine(options)
    try:
        if options.full:
            engine.indexer.workspace.rescan(full=True)
        _wait(engine, stored=True)
        result = index.status(engine, protocol.NoParams(), CancelToken())
    finally:
        engine.close()
    if options.json:
        _print_json(result)
    else:
        _print_roots(result)
    if result["state"] == "degraded":
        print(f"promptls: {result['message']}", file=sys.stderr)
        return WRONG
    return DONE


def _status(options: argparse.Namespace) -> int:
    from promptls.engine import survey

    results = [survey(root) for root in _root_paths(options)]
    if options.json:
        _print_json({"roots": results})
        return DONE
    for r in results:
        print(
            f"{r['path']}: {r['files']:,} files, {r['upToDate']:,} indexed and unchanged, {r['stale']:,} to be looked at"
        )
        print(f"  index: {r['bytes'] / 1e6:.1f} MB in {r['folder']}")
    return DONE


def _doctor(options: argparse.Namespace) -> int:
    from promptls.doctor import examine

    findings = examine()
    if options.json:
        _print_json({"findings": [{"ok": f.ok, "what": f.what, "mend": f.mend} for f in findings]})
    else:
        for finding in findings:
            print(f"{'ok ' if finding.ok else 'BAD'}  {finding.what}")
            if not finding.ok and finding.mend:
                print(f"     {finding.mend}")
    return DONE if all(f.ok for f in findings) else WRONG


# ---- shared by the commands


def _root_paths(options: argparse.Namespace) -> list[str]:
    out = []
    for name in options.root or ["."]:
        path = Path(name).expanduser()
        if not path.exists():
            raise UsageError(f"the workspace {name!r} does not exist.")
        if not path.is_dir():
            raise UsageError(f"the workspace {name!r} is not a folder.")
        if not os.access(path, os.R_OK | os.X_OK):
            raise UsageError(f"the workspace {name!r} cannot be read: you lack the permission.")
        out.append(path.resolve().as_posix())
    return out


def _engine(options: argparse.Namespace) -> Engine:
    from promptls.engine import Engine
    from promptls.index.workspace import Workspace
    from promptls.model import Root
    from promptls.settings import user_settings

    roots = _root_paths(options)
    settings, problems = user_settings()
    for problem in problems:
        print(f"promptls: {problem.message}", file=sys.stderr)
    workspace = Workspace()
    workspace.set_roots([Root(path, path.rsplit("/", 1)[-1] or path, Path(path).as_uri()) for path in roots])
    engine = Engine(settings, workspace)
    engine.start()
    return engine


@contextmanager
def _answer(
    options: argparse.Namespace, method: str, params: dict[str, Any], indexed: bool = True
) -> Iterator[dict[str, Any]]:
    """The answer to one request on an index that is complete; what is new is stored after it was used."""
    if indexed:
        start_ahead()
    from promptls.api import params as protocol
    from promptls.lsp import ENDPOINTS
    from promptls.model import CancelToken

    kind, run = ENDPOINTS[method]
    try:
        decoded = protocol.decode(kind, params)
        engine = _engine(options)
        try:
            if indexed:
                _wait(engine)
                engine.companions.follow(engine.indexer.view())  # nobody asks twice here: the first answer is the one
            yield run(engine, decoded, CancelToken())
            print(end="", flush=True)
            if indexed:
                _wait(engine, stored=True)
        finally:
            engine.close()
    except protocol.InvalidParams as error:
        raise UsageError(str(error)) from None


def _wait(engine: Engine, stored: bool = False) -> None:
    """Wait for the index, with a progress bar on a terminal."""
    indexer = engine.indexer
    ready = indexer.wait_stored if stored else indexer.wait_ready
    if ready(timeout_s=0.3) or not sys.stderr.isatty():
        ready()
        return
    from tqdm import tqdm

    with tqdm(total=1, desc="indexing", unit=" files", leave=False, file=sys.stderr) as bar:
        while not ready(timeout_s=0.1):
            standing = indexer.standing()
            bar.total, bar.n = max(1, standing.files), int(standing.complete * standing.files)
            bar.refresh()


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False), flush=True)


def _print_roots(status: dict[str, Any]) -> None:
    for r in status["roots"]:
        print(
            f"{r['name']}: {r['files']:,} files ({r['skipped']:,} by name only), {r['symbols']:,} symbols, {r['chunks']:,} chunks"
        )
    print(f"{status['disk']['bytes'] / 1e6:.1f} MB on disk, model {status['embedder']['model']}")


if __name__ == "__main__":
    sys.exit(main())
