"""Reads the part of EDN that histories use: maps, vectors, strings, numbers, keywords, nil, true,
false."""

import json
import re

TOKEN = re.compile(r'[\s,]*(?:;[^\n]*\n[\s,]*)*("(?:\\.|[^"\\])*"|[{}\[\]]|[^\s,{}\[\]"]+|$)')
INTEGER = re.compile(r"[-+]?\d+")
FLOAT = re.compile(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")
WORD = re.compile(r":?[A-Za-z*!_?$%&=<>.+-][\w*!?$%&=<>.+/#:'-]*")


class Malformed(Exception):
    pass


class Symbol(str):
    """A keyword, with its colon."""


def tokens(text):
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise Malformed(f"byte {at}: {text[at:at + 20]!r}")
        at = found.end()
        if found[1]:
            yield found[1]


def read_forms(text):
    """All top-level forms."""
    source = tokens(text)
    for token in source:
        yield _form(token, source)


def _form(token, source):
    if token == "[":
        return _until("]", source)
    if token == "{":
        flat = _until("}", source)
        if len(flat) % 2:
            raise Malformed("a map with a key and no value")
        return dict(zip(map(_key, flat[::2]), flat[1::2]))
    if token in "]}":
        raise Malformed(f"{token} closes nothing")
    return _atom(token)


def _key(form):
    return tuple(form) if isinstance(form, list) else form


def _until(end, source):
    found = []
    for token in source:
        if token == end:
            return found
        found.append(_form(token, source))
    raise Malformed(f"the end comes before {end}")


def _atom(token):
    if token.startswith('"'):
        return json.loads(token)
    if INTEGER.fullmatch(token):
        return int(token)
    if FLOAT.fullmatch(token):
        return float(token)
    if token in ("nil", "true", "false"):
        return {"nil": None, "true": True, "false": False}[token]
    if WORD.fullmatch(token):
        return Symbol(token)
    raise Malformed(f"what is {token!r}?")
