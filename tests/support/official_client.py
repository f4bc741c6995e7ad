"""Drives a gateway with the official Python client: argv is the gateway's command. Prints one line a call."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

CALLS = {
    "mcp__everything__echo": {"message": "hello"},
    "mcp__time__convert_time": {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"},
    "mcp__memory__read_graph": {},
}


async def main() -> None:
    parameters = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        names = {tool.name for tool in (await session.list_tools()).tools}
        for name, arguments in CALLS.items():
            assert name in names, f"{name} is not listed: {sorted(names)}"
            result = await session.call_tool(name, arguments)
            failed = getattr(result, "is_error", None) or getattr(result, "isError", None)
            assert not failed, f"{name} failed: {result}"
            text = result.content[0].text if result.content else ""
            print(f"{name}: {text if name.endswith('echo') else 'ok'}")


asyncio.run(main())
