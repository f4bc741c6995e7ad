"""Gets into a gateway by OAuth with the official Python client, lists its tools and calls one. Prints one JSON object.

Arguments: `initialize` or `stateless`, and the address. The page to open is printed as `{"page": …}`; the address that the
browser ends at is read from standard input.
"""

import asyncio
import json
import sys
import urllib.parse

from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata


class Memory:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens) -> None:
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client) -> None:
        self.client = client


async def show(page: str) -> None:
    print(json.dumps({"page": page}), flush=True)


async def come_back() -> AuthorizationCodeResult:
    line = await asyncio.to_thread(sys.stdin.readline)
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(line.strip()).query))
    return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))


async def main(era: str, target: str) -> None:
    metadata = OAuthClientMetadata(
        client_name="official Python client", redirect_uris=["http://127.0.0.1:49152/callback"],
        grant_types=["authorization_code", "refresh_token"],
    )
    provider = OAuthClientProvider(target, metadata, Memory(), show, come_back)
    server = streamable_http_client(target, http_client=create_mcp_http_client(auth=provider))
    async with Client(server, mode="legacy" if era == "initialize" else "2026-07-28") as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("mcp__one__plain", {})
        print(json.dumps({"tools": tools, "text": result.content[0].text}), flush=True)


asyncio.run(main(*sys.argv[1:]))
