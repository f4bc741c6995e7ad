"""Lists the tools of a gateway and calls one, with the official Python client. Prints one JSON object.

Arguments: `initialize` or `stateless`; then `stdio` and the command, or `http` and the address. The token is in
GATEWAY_TOKEN.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def main(era: str, way: str, target: str, *rest: str) -> None:
    if way == "stdio":
        server = StdioServerParameters(command=target, args=list(rest), env=dict(os.environ))
    else:
        headers = {"Authorization": f"Bearer {os.environ['GATEWAY_TOKEN']}"}
        server = streamable_http_client(target, http_client=create_mcp_http_client(headers=headers))
    async with Client(server, mode="legacy" if era == "initialize" else "2026-07-28") as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("mcp__everything__echo", {"message": "hello"})
        print(json.dumps({"tools": tools, "text": result.content[0].text, "revision": client.protocol_version}))


asyncio.run(main(*sys.argv[1:]))
