// Lists the tools of a gateway and calls one, with an official TypeScript client. Prints one JSON object.
//
// Arguments: the folder with the installed packages; `sdk` (first generation) or `client` (second); `initialize` or
// `stateless`; then `stdio` and the command, or `http` and the address. The token is in GATEWAY_TOKEN.

const { createRequire } = require("node:module");
const { join } = require("node:path");

const [folder, generation, era, way, target, ...rest] = process.argv.slice(2);
const load = createRequire(join(folder, "package.json"));

function classes() {
  if (generation === "client") {
    return { ...load("@modelcontextprotocol/client"), ...load("@modelcontextprotocol/client/stdio") };
  }
  return {
    ...load("@modelcontextprotocol/sdk/client/index.js"),
    ...load("@modelcontextprotocol/sdk/client/stdio.js"),
    ...load("@modelcontextprotocol/sdk/client/streamableHttp.js"),
  };
}

async function main() {
  const { Client, StdioClientTransport, StreamableHTTPClientTransport } = classes();
  const options = era === "stateless" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
  const client = new Client({ name: `typescript-${generation}`, version: "1" }, options);
  const transport =
    way === "stdio"
      ? new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: "inherit" })
      : new StreamableHTTPClientTransport(new URL(target), {
          requestInit: { headers: { Authorization: `Bearer ${process.env.GATEWAY_TOKEN}` } },
        });
  await client.connect(transport);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const result = await client.callTool({ name: "mcp__everything__echo", arguments: { message: "hello" } });
  const revision = client.getNegotiatedProtocolVersion?.() ?? null;
  await client.close();
  console.log(JSON.stringify({ tools, text: result.content[0].text, revision }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
