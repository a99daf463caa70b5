"""Addresses of servers on this machine: only the loopback interface, because others would expose the workspace."""

from __future__ import annotations

import os
import socket

from promptls.cli.output import UsageError

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1", "[::1]")


def parse_loopback(option: str, address: str, example: str, default_host: str = "") -> tuple[str, int]:
    """Return host and port of an address "HOST:PORT", or "PORT" if there is a default host.

    Raises:
        UsageError: The host is not a loopback address, or the port is invalid.
    """
    host, _, port = address.rpartition(":")
    host = host or default_host
    is_number = port.isascii() and port.isdecimal()
    if not is_number or int(port) > 65535 or host not in LOOPBACK_HOSTS:
        raise UsageError(f"{option} needs a loopback address and a port, such as {example}, not {address!r}.")
    return host.strip("[]"), int(port)


def cannot_listen(address: str, error: OSError) -> UsageError:
    """Return the error for an address that another program uses, or that does not exist here."""
    reason = os.strerror(error.errno) if error.errno else error  # libraries add the address to `strerror`
    return UsageError(f"cannot listen on {address}: {reason}. Choose another port.")


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections at an address; port 0 selects a free port.

    Raises:
        UsageError: The address is in use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise cannot_listen(shown_address(host, port), error) from None


def shown_address(host: str, port: int) -> str:
    """Return an address as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
