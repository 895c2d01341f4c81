"""Speaks to the lab's programs: a line to a Unix socket, an answer until its end (control.h)."""

import socket

PATIENCE_S = 20


class Refused(Exception):
    """The program did not understand, or could not."""


def ask(path, line):
    """The answer's text."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(str(path))
        connection.sendall(line.encode() + b"\n")
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    answer = b"".join(parts).decode()
    if not answer or answer.startswith("error"):
        raise Refused(f"{line}: {answer.strip() or 'no answer'}")
    return answer


def numbers(line):
    """{key: number} of an answer's words of the form key=number."""
    pairs = (word.split("=", 1) for word in line.split() if "=" in word)
    return {key: int(value) for key, value in pairs}
