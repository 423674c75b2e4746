//! A browser without a window, spoken to by Chrome's DevTools protocol through its standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::tool::{self, Missing};
use serde_json::{Value, json};

/// Of axe-core, as `.ci/run` gets it.
const AXE: &str = "axe-core/node_modules/axe-core/axe.min.js";

/// Where the target folder has axe-core.
///
/// # Errors
/// If it has not.
pub(crate) fn axe() -> Result<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().context("no target folder")?;
    let file = target.join(AXE);
    let get = format!("axe-core is not there (npm install --prefix {} axe-core)", target.join("axe-core").display());
    if file.is_file() { Ok(file) } else { Err(Missing(get).into()) }
}

/// The browser, with one page.
pub(crate) struct Browser {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    session: Value,
    number: u64,
}

impl Browser {
    /// Starts it, with its files in a folder. It ends after five minutes at the latest.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        tool::command("chromium", "chromium")?;
        // It takes commands from descriptor 3, and answers on 4.
        let mut child = Command::new("timeout")
            .args(["-k", "5", "300", "sh", "-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--remote-debugging-pipe", &format!("--user-data-dir={}", folder.display())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take().context("no output")?);
        let mut browser = Self { child, to, from: BufReader::new(from), session: Value::Null, number: 0 };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.ask("Target.attachToTarget", &attach)?["sessionId"].clone();
        browser.ask("Page.enable", &json!({}))?;
        Ok(browser)
    }

    fn receive(&mut self) -> Result<Value> {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message)?;
        ensure!(message.pop() == Some(0), "the browser has ended");
        Ok(serde_json::from_slice(&message)?)
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if self.session.is_string() {
            message["sessionId"] = self.session.clone();
        }
        write!(self.to.as_mut().context("no input")?, "{message}\0")?;
        loop {
            let answer = self.receive()?;
            if answer["id"] == self.number {
                ensure!(answer["error"].is_null(), "{method}: {answer}");
                return Ok(answer["result"].clone());
            }
        }
    }

    /// Has each page run a script before its own.
    pub(crate) fn add_script(&mut self, script: &str) -> Result<()> {
        self.ask("Page.addScriptToEvaluateOnNewDocument", &json!({"source": script})).map(|_| ())
    }

    /// Opens a file in a window of this width, with a colour scheme.
    pub(crate) fn open(&mut self, file: &Path, width: u32, scheme: &str) -> Result<()> {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", &size)?;
        let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.ask("Emulation.setEmulatedMedia", &scheme)?;
        self.ask("Page.navigate", &json!({"url": format!("file://{}", file.display())}))?;
        while self.receive()?["method"] != "Page.loadEventFired" {}
        Ok(())
    }

    /// What an expression of the page is, a promise's value in the end.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let how = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", &how)?;
        ensure!(answer["exceptionDetails"].is_null(), "{answer}");
        Ok(answer["result"]["value"].clone())
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str, code: u32) -> Result<()> {
        let text = if key == "Enter" { "\r" } else { "" };
        for action in ["keyDown", "keyUp"] {
            let event = json!({"type": action, "key": key, "windowsVirtualKeyCode": code, "text": text});
            self.ask("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends where its input does.
        self.to = None;
        let _ = self.child.wait();
    }
}
