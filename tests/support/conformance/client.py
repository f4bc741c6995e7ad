"""Stands in for the client that the conformance suite tests: drives a gateway whose only server is the suite's.

argv: the gateway's program, then the address of the suite's server. Variables: PORTCULLIS_HOME is a home whose cache of
compiled policies is filled, and whose config is written here; GATEWAY_CLIENT_ERA says how the gateway is spoken to:
`legacy` (with a handshake) or `modern` (stateless). Standard error tells what was done.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import urllib.error
import urllib.request

PATIENCE = 60
MODERN = "2026-07-28"
ROUNDS = 8

PROGRAM, ADDRESS = sys.argv[-2], sys.argv[-1]
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25")
STATELESS = os.environ.get("GATEWAY_CLIENT_ERA", "legacy") == "modern"
CAPABILITIES = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
CLIENT = {"name": "conformance-client", "version": "1.0.0"}

# Policies that judge messages are off: what is tested is the wire.
POLICIES = ["config-screen", "description-scan", "pins", "trust", "result-sanitizer", "flow", "server-requests"]
CONFIG = {
    "naming": "none",
    "policies": {"required": ["none"], **{name: {"mode": "off"} for name in POLICIES}},
    "mcp_servers": {"suite": {"url": ADDRESS, "tools": {"resources": False, "prompts": False}}},
}

# The suite knows the client by this address where a document describes it; nothing is fetched from there.
DOCUMENT = "https://conformance-test.local/client-metadata.json"
if LOGS_IN := SCENARIO.startswith("auth/"):
    known = {key: CONTEXT[key] for key in ("client_id", "client_secret") if key in CONTEXT}
    CONFIG["mcp_servers"]["suite"] |= {"auth": "oauth", "oauth": {"client_metadata_url": DOCUMENT, **known}}
# A login, and another one where the first turns out to reach not far enough.
LOGINS = 2

SAMPLES = {"string": "text", "number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}


def log(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


def sample(schema: dict) -> object:
    kind = schema.get("type", "string")
    return schema.get("default", SAMPLES.get(kind[0] if isinstance(kind, list) else kind, "text"))


def filled(schema: dict) -> dict:
    return {name: sample(part) for name, part in (schema.get("properties") or {}).items() if isinstance(part, dict)}


def answer(request: dict) -> dict:
    """What a willing user and model would say."""
    method, params = request["method"], request.get("params") or {}
    if method == "elicitation/create":
        return {"action": "accept", "content": filled(params.get("requestedSchema") or {})}
    if method == "sampling/createMessage":
        return {"role": "assistant", "content": {"type": "text", "text": "An answer."}, "model": "none"}
    return {"roots": []} if method == "roots/list" else {}


class Gateway:
    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([PROGRAM, "run"], stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self.replies: queue.Queue = queue.Queue()
        self.last = 0
        self.said = ""
        threading.Thread(target=self.read, daemon=True).start()

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def read(self) -> None:
        for line in self.process.stdout:
            message = json.loads(line)
            if "id" not in message:
                continue
            if "method" in message:
                self.send({"id": message["id"], "result": answer(message)})
            else:
                self.replies.put(message)

    def request(self, method: str, params: dict) -> dict:
        self.last += 1
        if STATELESS:
            own = {"protocolVersion": MODERN, "clientInfo": CLIENT, "clientCapabilities": CAPABILITIES}
            params = {**params, "_meta": {f"io.modelcontextprotocol/{key}": value for key, value in own.items()}}
        self.send({"id": self.last, "method": method, "params": params})
        while True:
            reply = self.replies.get(timeout=PATIENCE)
            if reply["id"] == self.last:
                log(method, json.dumps(reply)[:400])
                self.said += json.dumps(reply)
                return reply.get("result") or {}

    def rounds(self, method: str, params: dict) -> dict:
        """Sends a request and answers what it asks for, until it asks no more."""
        asked = params
        for _ in range(ROUNDS):
            result = self.request(method, asked)
            if result.get("resultType") != "input_required":
                return result
            asked = dict(params)
            if requests := result.get("inputRequests"):
                asked["inputResponses"] = {key: answer(request) for key, request in requests.items()}
            if "requestState" in result:
                asked["requestState"] = result["requestState"]
        return result

    def call(self, name: str, arguments: dict) -> dict:
        return self.rounds("tools/call", {"name": name, "arguments": arguments})

    def begin(self) -> None:
        if STATELESS:
            self.request("server/discover", {})
        else:
            version = min(REVISION, "2025-11-25")
            self.request("initialize", {"protocolVersion": version, "capabilities": CAPABILITIES, "clientInfo": CLIENT})
            self.send({"method": "notifications/initialized"})

    def end(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


def play(gateway: Gateway) -> None:
    gateway.begin()
    tools = {tool["name"]: tool for tool in gateway.request("tools/list", {}).get("tools", [])}
    log("listed", sorted(tools))
    if SCENARIO == "json-schema-ref-no-deref":
        return
    if SCENARIO == "json-schema-2020-12-preservation":
        gateway.call("json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})
        return
    if wanted := CONTEXT.get("toolCalls"):
        for call in wanted:
            gateway.call(call["name"], call.get("arguments", {}))
        return
    for name, tool in tools.items():
        gateway.call(name, filled(tool["inputSchema"]))
    if SCENARIO == "http-standard-headers":
        for resource in gateway.request("resources/list", {}).get("resources", [])[:1]:
            gateway.rounds("resources/read", {"uri": resource["uri"]})
        for prompt in gateway.request("prompts/list", {}).get("prompts", [])[:1]:
            gateway.rounds("prompts/get", {"name": prompt["name"], "arguments": {}})


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def browse(page: str) -> str:
    """What a browser ends at whose user consents."""
    try:
        urllib.request.build_opener(Stay).open(page, timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        return error.headers["Location"]
    raise RuntimeError("the page sent the browser nowhere")


def log_in() -> tuple[bool, int]:
    """Returns whether it did, and how many pages the operator was shown."""
    pipe = subprocess.PIPE
    login = subprocess.Popen([PROGRAM, "login", "suite", "--no-browser"], stdin=pipe, stdout=pipe, text=True)
    pages = 0
    # A page, and another one where the server wants more than it said at first.
    for line in login.stdout:
        if line.startswith("http"):
            pages += 1
            login.stdin.write(browse(line.strip()) + "\n")
            login.stdin.flush()
    login.wait(PATIENCE)
    log("login", login.returncode)
    return login.returncode == 0, pages


def drive() -> str:
    """Has the gateway do all that it can with the server; returns what was said of logins."""
    driven = Gateway()
    try:
        play(driven)
    finally:
        driven.end()
    return driven.said


with open(os.path.join(os.environ["PORTCULLIS_HOME"], "config.yaml"), "w", encoding="utf-8") as file:
    json.dump(CONFIG, file)
if LOGS_IN:
    for _ in range(LOGINS):
        done, pages = log_in()
        if done and "portcullis login" not in drive():
            break
        # Whoever consented and got nowhere tries again; whoever consented twice, or was shown nothing, does not.
        if not done and pages != 1:
            break
    if not done:
        sys.exit(1)
else:
    drive()
