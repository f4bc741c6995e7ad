// Gets into a gateway by OAuth with an official TypeScript client, lists its tools and calls one. Prints one JSON object.
//
// Arguments: the folder with the installed packages; `sdk` (first generation) or `client` (second); and the address. The page
// to open is printed as `{"page": …}`; the address that the browser ends at is read from standard input.

const { createRequire } = require("node:module");
const { join } = require("node:path");
const readline = require("node:readline");

const [folder, generation, target] = process.argv.slice(2);
const load = createRequire(join(folder, "package.json"));
const classes =
  generation === "client"
    ? load("@modelcontextprotocol/client")
    : {
        ...load("@modelcontextprotocol/sdk/client/index.js"),
        ...load("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      };

const kept = {};
const provider = {
  redirectUrl: "http://127.0.0.1:49152/callback",
  clientMetadata: {
    client_name: `official TypeScript client (${generation})`,
    redirect_uris: ["http://127.0.0.1:49152/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  redirectToAuthorization: (page) => console.log(JSON.stringify({ page: page.href })),
};

async function main() {
  const { Client, StreamableHTTPClientTransport } = classes;
  const transport = () => new StreamableHTTPClientTransport(new URL(target), { authProvider: provider });
  const client = () => new Client({ name: `typescript-${generation}`, version: "1" }, {});
  const first = transport();
  try {
    await client().connect(first);
    throw new Error("nobody asked for a token");
  } catch (error) {
    if (kept.verifier === undefined) throw error;
  }
  const lines = readline.createInterface({ input: process.stdin });
  const line = await new Promise((resolve) => lines.once("line", resolve));
  lines.close();
  const query = new URL(line).searchParams;
  await (generation === "client" ? first.finishAuth(query) : first.finishAuth(query.get("code")));
  const second = client();
  await second.connect(transport());
  const tools = (await second.listTools()).tools.map((tool) => tool.name);
  const result = await second.callTool({ name: "mcp__one__plain", arguments: {} });
  await second.close();
  console.log(JSON.stringify({ tools, text: result.content[0].text }));
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
