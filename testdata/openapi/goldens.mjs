import { readdirSync, readFileSync } from "node:fs";

// readGoldens gives the exchanges of a version that a proxy can repeat. A proxy
// names the host itself, writes a broken query anew, and answers by itself for
// paths and methods that the contract does not have; fetch sends a header once.
// A body that is not JSON is undefined.
export function readGoldens(version) {
  const folder = `testdata/${version}`;
  return readdirSync(folder)
    .filter((file) => !file.startsWith("error-query-"))
    .map((file) => parse(readFileSync(`${folder}/${file}`, "utf8")))
    .filter((g) => g.method === "GET" && g.status !== 404 && !g.headers.Host && !g.repeatsHeader);
}

function parse(text) {
  const [request, head, ...rest] = text.split("\n\n");
  const [first, ...lines] = request.split("\n");
  const [method, target] = first.split(" ");
  const body = rest.join("\n\n");
  return {
    method, target,
    headers: Object.fromEntries(lines.map((line) => line.split(": "))),
    repeatsHeader: new Set(lines.map((line) => line.split(": ")[0])).size < lines.length,
    status: Number(head.split("\n")[0]),
    body: body.startsWith("{") ? JSON.parse(body) : undefined,
  };
}
