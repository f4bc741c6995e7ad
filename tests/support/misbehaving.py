"""An MCP server over stdio that misbehaves as its tools' names say. Standard library only."""

import json
import os
import signal
import subprocess
import sys
import time

TOOLS = [
    "plain", "noise", "wrong-id", "huge-line", "duplicate-keys", "lone-surrogate", "invalid-utf8", "die", "text-id",
    "null-error", "no-version", "twice", "magic-keys", "grandchild", "slow", "variables", "frobnicate",
    "strange-content", "foreign-members", "odd-code", "no-id", "cancels", "herald",
]


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def send(message: dict) -> None:
    write(json.dumps(message).encode())


def text(value: str) -> dict:
    return {"content": [{"type": "text", "text": value}]}


def call(identifier, name: str, arguments: dict) -> None:
    def answer(result: dict) -> None:
        send({"jsonrpc": "2.0", "id": identifier, "result": result})

    head = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":' % json.dumps(identifier).encode()
    if arguments.get("fails"):
        answer({**text("it did not work"), "isError": True})
    elif name == "noise":
        write(b"starting up...")
        write(b"")
        write(b'{"level":30,"msg":"listening"}')
        write(b"[1,2]")
        write(b"\x1b[31mred\x1b[0m")
        answer(text("after the noise"))
    elif name == "wrong-id":
        send({"jsonrpc": "2.0", "id": 987654, "result": text("for nobody")})
        answer(text("for you"))
    elif name == "huge-line":
        write(head + b'"' + b"A" * (20 * 1024 * 1024) + b'"}]}}')
    elif name == "duplicate-keys":
        write(head + b'"a","text":"b"}]}}')
    elif name == "lone-surrogate":
        write(head + b'"\\ud83d"}]}}')
    elif name == "invalid-utf8":
        write(head + b'"\xff\xfe"}]}}')
    elif name == "die":
        os._exit(3)
    elif name == "text-id":
        send({"jsonrpc": "2.0", "id": str(identifier), "result": text("by a text id")})
    elif name == "null-error":
        send({"jsonrpc": "2.0", "id": identifier, "result": text("beside a null"), "error": None})
    elif name == "no-version":
        send({"id": identifier, "result": text("without a version")})
    elif name == "twice":
        answer(text("first"))
        answer(text("second"))
    elif name == "magic-keys":
        number = {"$serde_json::private::Number": "1"}
        result = text("magic")
        result["structuredContent"] = {"number": number, "__proto__": {"a": 1}, "big": 12345678901234567890123}
        answer(result)
    elif name == "strange-content":
        answer({"content": [{"type": "video", "data": "AA", "x": 1}, {"type": "text", "text": "beside a video"}]})
    elif name == "foreign-members":
        answer({**text("as a tool"), "contents": [], "messages": [], "tools": [], "action": "accept"})
    elif name == "odd-code":
        send({"jsonrpc": "2.0", "id": identifier, "error": {"code": -32000.5, "message": "half a code"}})
    elif name == "no-id":
        send({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "of nobody"}})
    elif name == "cancels":
        params = {"requestId": identifier, "reason": "no more"}
        send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    elif name == "grandchild":
        child = subprocess.Popen(["sleep", "300"], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        answer(text(str(child.pid)))
    elif name == "variables":
        answer(text(" ".join(sorted(os.environ))))
    elif name == "slow":
        time.sleep(float(arguments.get("seconds", 60)))
        answer(text("at last"))
    else:
        answer(text("plain"))


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "dies-at-start":
        print("cannot find the frobnicator", file=sys.stderr)
        sys.exit(7)
    if mode == "silent":
        time.sleep(600)
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        method, identifier = message.get("method"), message.get("id")
        if identifier is None or method is None:
            continue
        if method == "initialize":
            capabilities = {"tools": {"listChanged": True}}
            info = {"name": "misbehaving", "version": "1"}
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
            send({"jsonrpc": "2.0", "id": identifier, "result": result})
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            tools[-1]["description"] = "Hands round the frobnicator bulletin."
            tools.insert(1, {"name": "no-schema"})
            send({"jsonrpc": "2.0", "id": identifier, "result": {"tools": tools}})
        elif method == "tools/call":
            call(identifier, message["params"]["name"], message["params"].get("arguments") or {})
        else:
            send({"jsonrpc": "2.0", "id": identifier, "error": {"code": -32601, "message": "no such method"}})


main()
if sys.argv[1:] == ["stubborn"]:
    time.sleep(600)
