// The server's life: found, started, restarted when it ends by itself, installed when the user says so; and every
// request to it.  The one owner of the connection.

import * as os from "node:os";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, type LanguageClient, State } from "vscode-languageclient/node";
import { createClient } from "./client";
import type { Surroundings } from "./context";
import { Cancelled, Told, isCancelled, isLost, sentence } from "./errors";
import { type Found, findServer } from "./find";
import type { Life } from "./format";
import { install } from "./install";
import { answer } from "./model";
import { isProgram } from "./programs";
import type { Status } from "./protocol";
import { type Declared, type Nested, lost, ownSettings, same, workspaceSettings } from "./settings";

const CRASHES = 5;
const CRASHES_WITHIN_MS = 3 * 60_000;
const STOP_MS = 2000;
const ENDED = "it ended at once.";
const OFFERED = "installOffered";

export class Server implements vscode.Disposable {
  life: Life = "stopped";
  problem = "";
  status: Status | undefined;
  found: Found | undefined;
  looked: string[] = [];

  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;

  private client: LanguageClient | undefined;
  private turn: Promise<void> = Promise.resolve();
  private restarting: Promise<void> | undefined;
  private crashes: number[] = [];
  private given: { own: Nested; workspace: Nested; languages: unknown } = { own: {}, workspace: {}, languages: [] };
  private readonly settings: Declared[];
  private readonly listeners: vscode.Disposable[];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly surroundings: Surroundings,
    readonly log: vscode.LogOutputChannel,
    settings: Declared[],
  ) {
    this.settings = settings;
    this.listeners = [
      this.changed,
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("promptls")) this.reconfigure(event.affectsConfiguration("promptls.server.path"));
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restart("the workspace is trusted now")),
    ];
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  // ---- starting and stopping, one at a time

  start(): Promise<void> {
    return this.next(async () => {
      if (this.client === undefined) await this.launch();
    });
  }

  /** Restarts that are asked for before the next one has begun are one. */
  restart(why: string): Promise<void> {
    this.restarting ??= this.next(async () => {
      this.restarting = undefined;
      this.log.info(`Restart: ${why}.`);
      this.crashes = [];
      await this.halt();
      await this.launch();
    });
    return this.restarting;
  }

  stop(): Promise<void> {
    return this.next(async () => {
      await this.halt();
      this.set("stopped");
    });
  }

  private next(step: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(step).catch((error) => this.set("failed", sentence(error)));
    return this.turn;
  }

  private async halt(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.status = undefined;
    if (client === undefined) return;
    try {
      await client.dispose(STOP_MS);
    } catch (error) {
      this.log.info(`The server did not stop properly: ${sentence(error)}`);
    }
  }

  private async launch(): Promise<void> {
    const { found, problem, looked } = this.look();
    this.found = found;
    this.looked = looked;
    if (found === undefined) {
      this.set("missing", problem);
      return;
    }
    this.set("starting");
    this.log.info(`Starting ${found.command} (${found.origin}).`);
    await vscode.workspace.fs.createDirectory(this.context.globalStorageUri);
    const all = this.settings;
    this.given = { own: ownSettings(all, inspect), workspace: this.ofWorkspace(), languages: languages() };
    const client = createClient({
      command: found.command,
      cwd: this.context.globalStorageUri.fsPath,
      log: this.log,
      ownSettings: this.given.own,
      workspaceSettings: () => (this.given.workspace = this.ofWorkspace()),
      clientContext: (kinds) => this.surroundings.asked(kinds),
      complete: answer(),
      statusChanged: (status) => this.tell(status),
      errorHandler: { error: () => ({ action: ErrorAction.Continue }), closed: () => this.closed(client) },
    });
    this.client = client;
    client.onDidChangeState((event) => {
      if (client === this.client && event.newState === State.Running) this.set("running");
    });
    let reason = ENDED;
    try {
      await client.start();
      // A server that ends before it has said a word makes `start` return as if all were well.
      if (client.isRunning()) return;
    } catch (error) {
      if (!isLost(error)) reason = sentence(error);
    }
    if (client !== this.client) return; // it did run, and `closed` knows that it has ended
    this.client = undefined;
    if (reason === ENDED && this.crashes.length > 0) this.again(); // it has run before
    else this.giveUp(`The server does not start (${found.command}): ${reason} The log has more.`);
  }

  /** The connection is closed.  If it ran and nobody has asked for its end, the server has ended, or was ended. */
  private closed(client: LanguageClient): { action: CloseAction; handled: boolean } {
    if (client === this.client && this.life === "running") {
      this.client = undefined;
      this.status = undefined;
      this.again();
    }
    // The client could start it again by itself, but would not look for the program anew, nor tell if it cannot.
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  /** Start a server once more that has ended unexpectedly, unless it does so time and again. */
  private again(): void {
    const now = Date.now();
    this.crashes = [...this.crashes.filter((at) => now - at < CRASHES_WITHIN_MS), now];
    if (this.crashes.length >= CRASHES) {
      this.giveUp(`The server has ended ${CRASHES} times within three minutes; it is not started again.`);
      return;
    }
    this.log.warn("The server has ended unexpectedly; it is started again.");
    this.set("starting");
    void this.next(async () => {
      if (this.client === undefined && this.life === "starting") await this.launch();
    });
  }

  private giveUp(line: string): void {
    this.log.error(line);
    this.set("failed", line);
    void this.offerRestart(line);
  }

  private async offerRestart(line: string): Promise<void> {
    const chosen = await vscode.window.showErrorMessage(`promptls: ${line}`, "Restart Server", "Show Log", "Doctor");
    if (chosen === "Restart Server") await this.restart("the user asked for it");
    else if (chosen === "Show Log") this.log.show();
    else if (chosen === "Doctor") await vscode.commands.executeCommand("promptls.doctor");
  }

  private set(life: Life, problem = ""): void {
    this.life = life;
    this.problem = problem;
    this.changed.fire();
  }

  private tell(status: Status): void {
    this.status = status;
    this.changed.fire();
  }

  // ---- where it is, and how it gets there

  private get environment(): string {
    return vscode.Uri.joinPath(this.context.globalStorageUri, "server").fsPath;
  }

  private look(): ReturnType<typeof findServer> {
    const trusted = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : [];
    return findServer({
      setting: own("server.path"),
      folders: trusted.filter((folder) => folder.uri.scheme === "file").map((folder) => folder.uri.fsPath),
      path: process.env.PATH ?? "",
      home: os.homedir(),
      environment: this.environment,
      windows: process.platform === "win32",
      isProgram,
    });
  }

  /** Offer the install by itself once on this machine; after that only when the server is needed. */
  async offerOnce(): Promise<void> {
    if (this.life !== "missing" || this.context.globalState.get(OFFERED)) return;
    await this.context.globalState.update(OFFERED, true);
    await this.offer();
  }

  private async offer(): Promise<void> {
    const requirement = own("server.package").trim();
    const [install, choose] = ["Install", "Open Settings"];
    const question = requirement ? ` Install ${requirement} with pip into a private environment of this extension?` : "";
    const answers = requirement ? [install, choose] : [choose];
    const chosen = await vscode.window.showWarningMessage(`promptls: ${this.problem}${question}`, ...answers);
    if (chosen === install) await this.install();
    if (chosen === choose) await vscode.commands.executeCommand("workbench.action.openSettings", "promptls.server");
  }

  /** Make the private environment anew, and start the server in it. */
  async install(): Promise<void> {
    if (this.found?.origin === "the private environment") await this.stop(); // its files are about to go
    const plan = {
      environment: this.environment,
      requirement: own("server.package"),
      python: own("server.python"),
      path: process.env.PATH ?? "",
      windows: process.platform === "win32",
    };
    const title = `promptls: installing ${plan.requirement}`;
    try {
      await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title, cancellable: true },
        (progress, token) =>
          install(plan, token, (line) => {
            this.log.info(line);
            progress.report({ message: line.length > 80 ? `${line.slice(0, 79)}…` : line });
          }),
      );
    } catch (error) {
      if (isCancelled(error)) return;
      this.log.error(sentence(error));
      const chosen = await vscode.window.showErrorMessage(`promptls: ${sentence(error)}`, "Show Log");
      if (chosen !== undefined) this.log.show();
      return;
    }
    await this.restart("the server was installed");
  }

  // ---- settings

  private ofWorkspace(): Nested {
    return vscode.workspace.isTrusted ? workspaceSettings(this.settings, inspect) : {};
  }

  private reconfigure(path: boolean): void {
    if (this.life === "stopped") return;
    const asked = ownSettings(this.settings, inspect);
    const gone = lost(this.given.workspace, this.ofWorkspace());
    if (path || gone || !same(asked, this.given.own) || !same(languages(), this.given.languages)) {
      void this.restart("settings have changed");
    } else if (this.client?.isRunning()) {
      void this.client.sendNotification("workspace/didChangeConfiguration", { settings: null });
    }
  }

  // ---- requests

  /** Ask the server.  Throws `Told`, `Cancelled` and what the server answers; a lost answer is asked for again. */
  async request<R>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R> {
    for (let attempt = 0; ; attempt++) {
      const client = await orCancelled(this.ready(), token);
      const name = `promptls/${method}`;
      try {
        const sent = token ? client.sendRequest<R>(name, params, token) : client.sendRequest<R>(name, params);
        return await orCancelled(sent, token);
      } catch (error) {
        if (attempt > 0 || !isLost(error) || token?.isCancellationRequested) throw error;
        this.log.info(`${name} is asked again: ${sentence(error)}`);
        if (this.isRunning()) await bounded(this.nextChange(), STOP_MS); // until it is noticed that the server is gone
      }
    }
  }

  /** The running client.  Starts the server where it does not run; where there is none, offers to install it. */
  private async ready(): Promise<LanguageClient> {
    if (this.life === "stopped" || this.life === "failed") await this.start();
    await this.turn;
    await this.settled();
    if (this.life === "missing") void this.offer(); // whoever asks does not wait for an answer to that
    if (this.client === undefined || !this.isRunning()) {
      throw new Told(this.problem || "The server does not run; “promptls: Doctor” tells why.");
    }
    return this.client;
  }

  /** Returns when a start that is under way has come to an end. */
  private async settled(): Promise<void> {
    while (this.life === "starting") await this.nextChange();
  }

  private nextChange(): Promise<void> {
    return new Promise((resolve) => {
      const listener = this.changed.event(() => {
        listener.dispose();
        resolve();
      });
    });
  }

  private isRunning(): boolean {
    return this.life === "running";
  }
}

/** A value, or `Cancelled` as soon as the user no longer waits for it. */
export function orCancelled<T>(value: Promise<T>, token: vscode.CancellationToken | undefined): Promise<T> {
  if (token === undefined) return value;
  return new Promise((resolve, reject) => {
    const listener = token.onCancellationRequested(() => reject(new Cancelled()));
    if (token.isCancellationRequested) reject(new Cancelled());
    value.then(resolve, reject).finally(() => listener.dispose());
  });
}

/** Wait for something, but not longer than that. */
async function bounded(what: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([what.catch(() => undefined), late]);
  clearTimeout(timer);
}

/** A setting of the extension itself; of machine scope, so that no workspace sets it. */
function own(key: string): string {
  return vscode.workspace.getConfiguration("promptls").get<string>(key) ?? "";
}

function languages(): unknown {
  return vscode.workspace.getConfiguration("promptls").get("documents.languages");
}

function inspect(key: string) {
  return vscode.workspace.getConfiguration("promptls").inspect(key);
}

