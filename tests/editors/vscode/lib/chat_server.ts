// The scripted language model of the Python tests, as a process.

import { spawn } from "node:child_process";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { command, repository } from "./paths";

const CHAT_SERVER = `
import sys
from chatserver import ChatServer, say
with ChatServer([say(sys.argv[1])]) as server:
    print(server.url, flush=True)
    sys.stdin.read()`;

/** Start a model that always gives the same answer. */
export async function startChatServer(answer: string): Promise<{ url: string; stop(): void }> {
  const env = { ...process.env, PYTHONPATH: path.join(repository, "tests") };
  const python = path.join(path.dirname(command), "python");
  const server = spawn(python, ["-c", CHAT_SERVER, answer], { env, stdio: ["pipe", "pipe", "inherit"] });
  for await (const url of createInterface(server.stdout)) return { url, stop: () => server.stdin.end() };
  throw new Error("The chat server did not start.");
}
