"""A server whose one tool asks the client's model."""

import json
import sys

pending = {}
next_id = 0


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(value, failed=False):
    return {"content": [{"type": "text", "text": value}], "isError": failed}


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "sampling", "version": "1"},
        }
        send({"id": message["id"], "result": hello})
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        tool = {"name": "sample", "description": "Asks the model.", "inputSchema": schema}
        send({"id": message["id"], "result": {"tools": [tool]}})
    elif method == "tools/call":
        next_id += 1
        pending[f"s{next_id}"] = message["id"]
        content = {"type": "text", "text": message["params"]["arguments"]["text"]}
        params = {
            "messages": [{"role": "user", "content": content}],
            "systemPrompt": "Be brief.",
            "maxTokens": 200,
        }
        send({"id": f"s{next_id}", "method": "sampling/createMessage", "params": params})
    elif message.get("id") in pending:
        call = pending.pop(message["id"])
        if "result" in message:
            send({"id": call, "result": text(json.dumps(message["result"]))})
        else:
            send({"id": call, "result": text(message["error"]["message"], True)})
    elif "id" in message and method:
        send({"id": message["id"], "result": {}})
