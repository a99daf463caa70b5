// Lifecycle of the server process: locate, start, restart after a crash, install; and requests to it.  The only owner
// of the language client.

import * as os from "node:os";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, type LanguageClient } from "vscode-languageclient/node";
import type { ClientContextProvider } from "./client_context";
import { additionalPromptLanguages } from "./documents";
import { CancelledError, ReportedError, errorSentence, isCancelled, isConnectionLost } from "./errors";
import { type ServerState, plainText } from "./format";
import { installServer } from "./install_server";
import { createClient } from "./language_client";
import { completeHandler } from "./language_model";
import { type LocateResult, type Machine, type ServerExecutable, locateServer } from "./locate_server";
import { showMessage } from "./notifications";
import { isExecutable, realPath } from "./process";
import type { Status } from "./protocol";
import { type NestedSettings, type SettingDeclaration, equalJson, userSettings, workspaceSettings } from "./settings";

/** Number of crashes within `CRASH_WINDOW_MS` after which the server is not restarted. */
const MAX_CRASHES = 5;
const CRASH_WINDOW_MS = 3 * 60_000;
/** Maximum time for an orderly shutdown, in milliseconds; then the process is killed. */
const STOP_TIMEOUT_MS = 2000;
/** Maximum length of a progress line of the installation, in characters. */
const MAX_PROGRESS_CHARS = 80;
const EXITED_AT_START = "it exited immediately.";
/** Key of the global state: whether the installation was offered. */
const INSTALL_OFFERED_KEY = "installOffered";

export class Server implements vscode.Disposable {
  state: ServerState = "stopped";
  /** Why the server is missing or failed; "" otherwise. */
  problem = "";
  /** Last status notification of the server. */
  status: Status | undefined;
  executable: ServerExecutable | undefined;
  /** Locations in which the executable was searched. */
  searched: string[] = [];

  private readonly changeEmitter = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changeEmitter.event;
  private readonly pageEmitter = new vscode.EventEmitter<string>();
  /** The text of a page has changed; the value is its URI. */
  readonly onDidChangePage = this.pageEmitter.event;

  private client: LanguageClient | undefined;
  /** Last queued start, stop or restart. */
  private queue: Promise<void> = Promise.resolve();
  private pendingRestart: Promise<void> | undefined;
  private crashTimes: number[] = [];
  private isOfferShown = false;
  /** Additional prompt languages of the running client. */
  private languages: string[] = [];
  private readonly listeners: vscode.Disposable[];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly clientContext: ClientContextProvider,
    readonly log: vscode.LogOutputChannel,
    private readonly settings: readonly SettingDeclaration[],
  ) {
    this.listeners = [
      this.changeEmitter,
      this.pageEmitter,
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("promptls")) {
          this.handleSettingsChange(event.affectsConfiguration("promptls.server.path"));
        }
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restart("the workspace is now trusted")),
    ];
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  // ---- start and stop; the steps run one at a time

  start(): Promise<void> {
    return this.enqueue(async () => {
      if (this.client === undefined) await this.launch();
    });
  }

  /** Restart the server.  Requests for a restart that arrive before it begins are combined. */
  restart(reason: string): Promise<void> {
    this.pendingRestart ??= this.enqueue(async () => {
      this.pendingRestart = undefined;
      this.log.info(`Restarting the server: ${reason}.`);
      this.crashTimes = [];
      await this.stopClient();
      await this.launch();
    });
    return this.pendingRestart;
  }

  stop(): Promise<void> {
    return this.enqueue(async () => {
      await this.stopClient();
      this.setState("stopped");
    });
  }

  private enqueue(step: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(step).catch((error) => this.setState("failed", errorSentence(error)));
    return this.queue;
  }

  private async stopClient(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.status = undefined;
    if (client === undefined) return;
    try {
      await client.dispose(STOP_TIMEOUT_MS);
    } catch (error) {
      this.log.info(`The server did not shut down cleanly: ${errorSentence(error)}`);
    }
  }

  private async launch(): Promise<void> {
    const { executable, problem, searched } = this.locate();
    this.executable = executable;
    this.searched = searched;
    if (executable === undefined) {
      this.setState("missing", problem);
      return;
    }
    this.setState("starting");
    this.log.info(`Starting ${executable.command} (from ${executable.origin}).`);
    await vscode.workspace.fs.createDirectory(this.context.globalStorageUri);
    this.languages = additionalPromptLanguages();
    const client = createClient({
      command: executable.command,
      cwd: this.context.globalStorageUri.fsPath,
      log: this.log,
      userSettings: userSettings(this.settings, inspectSetting),
      workspaceSettings: () => this.workspaceSettings(),
      clientContext: (kinds) => this.clientContext.resolve(kinds),
      complete: completeHandler(),
      onStatusChanged: (status) => this.setStatus(status),
      onPageChanged: (uri) => this.pageEmitter.fire(uri),
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        closed: () => this.handleConnectionClosed(client),
      },
    });
    this.client = client;
    let reason = EXITED_AT_START;
    try {
      await client.start();
      // `start` also resolves if the server exits before its first message.
      if (client.isRunning()) {
        this.setState("running");
        return;
      }
    } catch (error) {
      if (!isConnectionLost(error)) reason = errorSentence(error);
    }
    this.client = undefined;
    if (reason === EXITED_AT_START && this.crashTimes.length > 0) this.restartAfterCrash();
    else this.fail(`Could not start the server (${executable.command}): ${reason} See the log.`);
  }

  /** Handle the end of the connection.  If the server was running and no stop was requested, it has crashed. */
  private handleConnectionClosed(client: LanguageClient): { action: CloseAction; handled: boolean } {
    if (client === this.client && this.state === "running") {
      this.client = undefined;
      this.status = undefined;
      this.restartAfterCrash();
    }
    // A restart by the client would neither locate the executable again nor report a failure.
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  /** Restart the server after a crash, unless it crashes repeatedly. */
  private restartAfterCrash(): void {
    const now = Date.now();
    this.crashTimes = [...this.crashTimes.filter((time) => now - time < CRASH_WINDOW_MS), now];
    if (this.crashTimes.length >= MAX_CRASHES) {
      this.fail(`The server crashed ${MAX_CRASHES} times within three minutes and will not be restarted.`);
      return;
    }
    this.log.warn("The server exited unexpectedly. Restarting.");
    this.setState("starting");
    void this.enqueue(async () => {
      if (this.client === undefined && this.state === "starting") await this.launch();
    });
  }

  private fail(problem: string): void {
    this.log.error(problem);
    this.setState("failed", problem);
    void this.offerRestart(problem);
  }

  private async offerRestart(problem: string): Promise<void> {
    const [restart, showLog, doctor] = ["Restart Server", "Show Log", "Run Doctor"];
    const action = await showMessage("Error", problem, restart, showLog, doctor);
    if (action === restart) await this.restart("requested by the user");
    else if (action === showLog) this.log.show();
    else if (action === doctor) await vscode.commands.executeCommand("promptls.doctor");
  }

  private setState(state: ServerState, problem = ""): void {
    this.state = state;
    this.problem = problem;
    this.changeEmitter.fire();
  }

  private setStatus(status: Status): void {
    this.status = status;
    this.changeEmitter.fire();
  }

  // ---- location and installation

  /** Path of the private environment. */
  private get environment(): string {
    return vscode.Uri.joinPath(this.context.globalStorageUri, "server").fsPath;
  }

  /** Return what decides which programs are found. */
  private get machine(): Machine {
    const folders = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
    return {
      folders: folders.map((folder) => folder.uri.fsPath),
      trusted: vscode.workspace.isTrusted,
      env: process.env,
      home: os.homedir(),
      windows: process.platform === "win32",
      isExecutable,
      realPath,
    };
  }

  /** Find the executable; a running server may have been started from another one. */
  locate(): LocateResult {
    return locateServer({ ...this.machine, setting: extensionSetting("server.path"), environment: this.environment });
  }

  /** Offer the installation at the first start on this machine; later, only a request of the user does. */
  async offerInstallOnce(): Promise<void> {
    if (this.state !== "missing" || this.context.globalState.get(INSTALL_OFFERED_KEY)) return;
    await this.context.globalState.update(INSTALL_OFFERED_KEY, true);
    await this.offerInstall();
  }

  /** Offer the installation, unless the offer is shown already. */
  private async offerInstall(): Promise<void> {
    if (this.isOfferShown) return;
    this.isOfferShown = true;
    const [install, openSettings] = ["Install…", "Open Settings"];
    const action = await showMessage("Warning", this.problem, install, openSettings);
    this.isOfferShown = false;
    if (action === install) await this.install();
    if (action === openSettings) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "promptls.server");
    }
  }

  /** Create or replace the private environment, then start its server. */
  async install(): Promise<void> {
    const requirement = extensionSetting("server.package").trim() || (await selectPackage());
    if (!requirement) return;
    // The files of a running server must not be replaced.
    if (this.executable?.origin === "the private environment") await this.stop();
    const { environment, machine } = this;
    const options = { ...machine, environment, requirement, python: extensionSetting("server.python") };
    const title = "promptls: installing the server";
    try {
      await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title, cancellable: true },
        (progress, token) => {
          let current = "";
          const show = (line: string) => progress.report({ message: plainText([current, line].filter(Boolean).join(": ")) });
          return installServer(options, token, {
            onStep: (step) => {
              current = step;
              show("");
            },
            onLine: (line) => {
              this.log.info(line);
              if (line.startsWith("> ")) return; // a command
              const truncated = line.length > MAX_PROGRESS_CHARS;
              show(truncated ? `${line.slice(0, MAX_PROGRESS_CHARS - 1)}…` : line);
            },
          });
        },
      );
    } catch (error) {
      if (isCancelled(error)) return;
      this.log.error(errorSentence(error));
      const action = await showMessage("Error", errorSentence(error), "Show Log");
      if (action !== undefined) this.log.show();
      return;
    }
    await this.restart("the server was installed");
    if (this.executable === undefined || this.executable.origin === "the private environment") return;
    const { command, origin } = this.executable;
    await showMessage("Information", `The installed server is not used: ${command} (${origin}) comes first.`);
  }

  // ---- settings

  private workspaceSettings(): NestedSettings {
    return vscode.workspace.isTrusted ? workspaceSettings(this.settings, inspectSetting) : {};
  }

  /**
   * Send the user's settings to the server, which then requests those of the workspace.
   *
   * Only another executable needs another process, and other languages need another client.
   */
  private handleSettingsChange(pathChanged: boolean): void {
    if (this.state === "stopped") return;
    if (pathChanged || !equalJson(additionalPromptLanguages(), this.languages)) {
      void this.restart("settings have changed");
      return;
    }
    this.changeEmitter.fire(); // the MCP server depends on settings, too
    const settings = { promptls: userSettings(this.settings, inspectSetting) };
    // A client that is starting sends them when it has started.
    this.client?.sendNotification("workspace/didChangeConfiguration", { settings }).catch((error) => {
      this.log.info(`The settings were not sent: ${errorSentence(error)}`); // the next start sends them
    });
  }

  // ---- requests

  /**
   * Send a request; a method without a namespace is one of `promptls/`.
   * If the server exits before it responds, the request is retried once.
   * Throws `ReportedError`, `CancelledError` and errors of the server.
   */
  async request<R>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R> {
    for (let attempt = 0; ; attempt++) {
      const client = await orCancelled(this.runningClient(), token);
      const name = method.includes("/") ? method : `promptls/${method}`;
      try {
        const response = token ? client.sendRequest<R>(name, params, token) : client.sendRequest<R>(name, params);
        return await orCancelled(response, token);
      } catch (error) {
        if (attempt > 0 || !isConnectionLost(error) || token?.isCancellationRequested) throw error;
        this.log.info(`Retrying ${name}: ${errorSentence(error)}`);
        // The client may report the end of the connection later than the request.
        if (this.isRunning()) await withTimeout(this.nextChange(), STOP_TIMEOUT_MS);
      }
    }
  }

  /** Return the running client.  Starts the server if it is stopped, and offers the installation if it is missing. */
  private async runningClient(): Promise<LanguageClient> {
    if (this.state === "stopped" || this.state === "failed") await this.start();
    await this.queue;
    await this.startFinished();
    if (this.state === "missing") void this.offerInstall(); // not awaited: the request fails without an answer
    if (this.client === undefined || !this.isRunning()) {
      throw new ReportedError(this.problem || "The server is not running. Run “promptls: Run Doctor”.");
    }
    return this.client;
  }

  private async startFinished(): Promise<void> {
    while (this.state === "starting") await this.nextChange();
  }

  private nextChange(): Promise<void> {
    return new Promise((resolve) => {
      const listener = this.changeEmitter.event(() => {
        listener.dispose();
        resolve();
      });
    });
  }

  /** Wait until the index is complete, or the server has ended. */
  async indexCompleted(): Promise<void> {
    while ((this.isRunning() || this.state === "starting") && this.status?.complete !== 1) await this.nextChange();
  }

  private isRunning(): boolean {
    return this.state === "running";
  }
}

/** Ask for a wheel or a clone.  Dialogs of most systems select either files or folders. */
async function selectPackage(): Promise<string | undefined> {
  const [wheel, clone] = ["Wheel of a release…", "Folder of a clone…"];
  const title = "Install the promptls server from";
  const choice = await vscode.window.showQuickPick([wheel, clone], { title });
  if (choice === undefined) return undefined;
  const isWheel = choice === wheel;
  const [uri] =
    (await vscode.window.showOpenDialog({
      title: `${title} a ${isWheel ? "wheel" : "clone"}`,
      openLabel: "Install",
      canSelectFiles: isWheel,
      canSelectFolders: !isWheel,
      ...(isWheel && { filters: { Wheel: ["whl"] } }),
    })) ?? [];
  return uri?.fsPath;
}

/** Return the value of a promise, or throw `CancelledError` as soon as the token is cancelled. */
function orCancelled<T>(value: Promise<T>, token: vscode.CancellationToken | undefined): Promise<T> {
  if (token === undefined) return value;
  return new Promise((resolve, reject) => {
    const listener = token.onCancellationRequested(() => reject(new CancelledError()));
    if (token.isCancellationRequested) reject(new CancelledError());
    value.then(resolve, reject).finally(() => listener.dispose());
  });
}

/** Wait for a promise to settle, for a limited time. */
async function withTimeout(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise.catch(() => undefined), timeout]);
  clearTimeout(timer);
}

/** Return a setting of the extension itself.  These settings have machine scope, so a workspace cannot set them. */
function extensionSetting(key: string): string {
  return vscode.workspace.getConfiguration("promptls").get<string>(key) ?? "";
}

function inspectSetting(key: string) {
  return vscode.workspace.getConfiguration("promptls").inspect(key);
}
