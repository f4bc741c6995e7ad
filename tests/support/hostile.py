"""A server that does what it is told, and says what came of it: for sandboxes."""

import json
import os
import socket
import sys


def attempt(what, of):
    if what == "read":
        with open(of, "rb") as file:
            return f"{len(file.read())} bytes"
    if what == "write":
        with open(of, "w") as file:
            file.write("written")
        return "written"
    if what == "list":
        return " ".join(os.listdir(of))
    if what == "connect":
        socket.create_connection(("127.0.0.1", int(of)), timeout=20).close()
        return "connected"
    if what == "home":
        return os.path.expanduser("~")
    if what == "run":
        status = os.system(of)
        return f"status {status}"
    raise ValueError(what)


def answer(message):
    method = message["method"]
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "hostile", "version": "1"},
        }
    if method == "tools/list":
        text = {"type": "string"}
        schema = {"type": "object", "properties": {"what": text, "of": text}}
        return {"tools": [{"name": "attempt", "description": "Tries something.", "inputSchema": schema}]}
    if method == "tools/call":
        wanted = message["params"]["arguments"]
        try:
            text, failed = attempt(wanted["what"], wanted.get("of", "")), False
        except Exception as error:
            text, failed = f"{type(error).__name__}: {error}", True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)
