"""Plugin of the command-line tool llm.

`llm -f promptls:"QUESTION"` adds the code for a question to a prompt, `llm -T search_code -T read_code` offers the tools.
llm loads this module by its entry point; nothing else imports it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import llm

from promptls.cli.command_workspace import request
from promptls.cli.output import print_error


@llm.hookimpl  # type: ignore[untyped-decorator]
def register_fragment_loaders(register: Callable[[str, Callable[[str], llm.Fragment]], None]) -> None:
    """Register the prefix `promptls:`."""
    register("promptls", load_context)


@llm.hookimpl  # type: ignore[untyped-decorator]
def register_tools(register: Callable[[llm.Tool], None]) -> None:
    """Register the tools for language models with the texts that the MCP server declares."""
    from promptls.api.tool_params import json_schema
    from promptls.api.tools import TOOLS  # imports the engine, which only tools need

    for tool in TOOLS.values():
        register(llm.Tool(tool.name, tool.description, json_schema(tool.params), partial(_call_tool, tool.name)))


def _call_tool(name: str, /, **arguments: Any) -> str:
    """Return the text of a tool that was called on the current folder."""
    params = {"name": name, "arguments": arguments}
    with request(argparse.Namespace(root=None), "promptls/callTool", params) as result:
        return str(result["text"])


def load_context(question: str) -> llm.Fragment:
    """Code of the current folder that a question needs; @-mentions such as @src/a.py add what they name.

    Example: llm -f promptls:"where are retries limited?" "explain"
    """
    params = {"message": question, "output": "context", "sections": {"instructions": False}}
    with request(argparse.Namespace(root=None), "promptls/buildPrompt", params) as result:
        for mention in result["mentions"]:
            if mention["status"] != "included":
                print_error(f"{mention['text']}: {mention['status']}. {mention['reason']}".rstrip())
        for warning in result["warnings"]:
            print_error(warning)
        if not result["items"]:
            print_error("no code in the current folder belongs to the question. Mention a file, such as @src/a.py.")
        return llm.Fragment(result["prompt"], f"promptls:{question}")
