"""An MCP server over stdio that tells when it starts and when it is ready. argv: a folder. Standard library only.

Each goes as one line to the file `starts` of the folder: `start PID` at once, `ready PID` right before the handshake is
answered. While there is a file `closed` in the folder, the handshake is not answered.
"""

import json
import os
import sys
import time

folder = sys.argv[1]


def note(word: str) -> None:
    with open(os.path.join(folder, "starts"), "a", encoding="utf-8") as file:
        file.write(f"{word} {os.getpid()}\n")


note("start")
for line in sys.stdin:
    message = json.loads(line)
    method, identifier = message.get("method"), message.get("id")
    if identifier is None or method is None:
        continue
    reply = {"result": {}}
    if method == "initialize":
        while os.path.exists(os.path.join(folder, "closed")):
            time.sleep(0.02)
        # Long enough for another one to be started meanwhile, if anybody did.
        time.sleep(0.3)
        note("ready")
        info = {"name": "starting", "version": "1"}
        reply = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif method == "tools/list":
        reply = {"result": {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]}}
    elif method == "tools/call":
        reply = {"result": {"content": [{"type": "text", "text": str(os.getpid())}]}}
    elif method == "server/discover":
        reply = {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": identifier, **reply}), flush=True)
