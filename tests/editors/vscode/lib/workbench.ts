// A code-server workbench on a loopback port, with its own home, settings and extensions.  Its processes are one
// process group, which is terminated at the end.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as path from "node:path";
import { cache, command, work } from "./paths";
import { waitFor } from "./report";
import { makeWorkspace } from "./workspace";

/** Unreachable extension gallery, so that nothing is downloaded. */
const NO_GALLERY = "http://127.0.0.1:9/none";

export interface WorkbenchOptions {
  name: string;
  vsix: string[];
  settings?: Record<string, unknown>;
  env?: Record<string, string>;
  trust?: boolean;
}

export interface Workbench {
  url: string;
  home: string;
  workspace: string;
  /** Folder of the server's index; identifies the processes of this workbench. */
  index: string;
  settingsFile: string;
  stop(): Promise<void>;
}

export async function startWorkbench(options: WorkbenchOptions): Promise<Workbench> {
  const home = path.join(work, options.name);
  const [user, extensions, index] = [path.join(home, "user"), path.join(home, "extensions"), path.join(home, "index")];
  fs.mkdirSync(extensions, { recursive: true });
  const workspace = makeWorkspace(path.join(home, "shop"));
  const settings = JSON.stringify({ ...DEFAULT_SETTINGS, "security.workspace.trust.enabled": options.trust ?? false, "promptls.server.path": command, ...options.settings });
  // Settings of machine scope are read from Machine, other settings from User.
  for (const scope of ["User", "Machine"]) {
    fs.mkdirSync(path.join(user, scope), { recursive: true });
    fs.writeFileSync(path.join(user, scope, "settings.json"), settings);
  }
  const port = await freePort();
  const config = path.join(home, "config.yaml");
  fs.writeFileSync(config, `bind-addr: 127.0.0.1:${port}\nauth: none\ncert: false\n`);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, ".config"),
    XDG_DATA_HOME: path.join(home, ".local/share"),
    XDG_CACHE_HOME: path.join(home, ".cache"),
    XDG_STATE_HOME: path.join(home, ".state"),
    SHELL: "/bin/bash",
    EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: NO_GALLERY, itemUrl: NO_GALLERY, resourceUrlTemplate: NO_GALLERY }),
    PROMPTLS_CACHE: index,
    ...options.env,
  };
  delete env.VSCODE_IPC_HOOK_CLI;
  const entry = path.join(cache, "code-server/node_modules/code-server/out/node/entry.js");
  const base = [entry, "--config", config, "--user-data-dir", user, "--extensions-dir", extensions];
  const installs = options.vsix.flatMap((file) => ["--install-extension", file]);
  execFileSync(process.execPath, [...base, ...installs], { env, stdio: "pipe" });

  const log = fs.openSync(path.join(home, "workbench.log"), "w");
  const flags = ["--disable-telemetry", "--disable-update-check", "--disable-proxy"];
  if (!options.trust) flags.push("--disable-workspace-trust");
  const child = spawn(process.execPath, [...base, ...flags, workspace], { env, stdio: ["ignore", log, log], detached: true });
  const terminateChild = () => terminate(child);
  process.once("exit", terminateChild);
  const url = `http://127.0.0.1:${port}`;
  await waitFor("the workbench responds", async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok, 30_000);
  return {
    url,
    home,
    workspace,
    index,
    settingsFile: path.join(user, "Machine/settings.json"),
    async stop() {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      terminateChild();
      await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, 5000))]);
      process.off("exit", terminateChild);
    },
  };
}

const DEFAULT_SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "update.mode": "none",
  "git.openRepositoryInParentFolders": "never",
  "typescript.disableAutomaticTypeAcquisition": true,
  "files.simpleDialog.enable": true,
  "files.autoSave": "off", // on by default in a browser
  "editor.minimap.enabled": false,
};

function terminate(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
  } catch {
    // The process has already exited.
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = net.createServer().once("error", reject);
    socket.listen(0, "127.0.0.1", () => {
      const { port } = socket.address() as net.AddressInfo;
      socket.close(() => resolve(port));
    });
  });
}
