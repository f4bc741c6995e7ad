"""An MCP server over stdio that leaves a trace of what it did. argv: a folder and a name. Standard library only.

Its process id goes to NAME.pid, one line for each write to NAME.writes, before the write is answered.
"""

import json
import os
import sys
import time

folder, name = sys.argv[1:3]
with open(os.path.join(folder, name + ".pid.new"), "w", encoding="utf-8") as file:
    file.write(str(os.getpid()))
os.replace(file.name, os.path.join(folder, name + ".pid"))
writes = open(os.path.join(folder, name + ".writes"), "a", encoding="utf-8", buffering=1)

SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}}
TOOLS = [
    {"name": "write", "description": "Writes a line", "inputSchema": SCHEMA},
    {"name": "read", "description": "Reads nothing", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
]


def answer(message: dict) -> dict:
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        key = params.get("arguments", {}).get("key", "")
        if params["name"] == "write":
            writes.write(key + "\n")
        # Long enough for a kill to hit between the deed and its answer.
        time.sleep(0.002)
        return {"content": [{"type": "text", "text": key}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    if message["method"] == "server/discover":
        reply = {"error": {"code": -32601, "message": "Method not found"}}
    else:
        reply = {"result": answer(message)}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
