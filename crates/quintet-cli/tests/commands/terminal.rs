//! A terminal for commands that draw on one.

use crate::tool::wait_until;
use std::io::{Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// A terminal of 12 lines, in which a command of ours runs.
pub(crate) struct Terminal {
    child: std::process::Child,
    keys: ChildStdin,
    drawn: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// With so many columns.
    pub(crate) fn start(columns: u16, words: &str) -> Terminal {
        let command = format!("stty rows 12 cols {columns}; exec {} {words}", env!("CARGO_BIN_EXE_quintet"));
        let mut script = Command::new("script");
        script
            .args(["-qfec", &command, "/dev/null"])
            .env_remove("QUINTET_SPACE")
            .env_remove("QUINTET_IDENTITY");
        let mut child =
            script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bsdutils are there");
        let (keys, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let drawn = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&drawn);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(len @ 1..) = output.read(&mut piece) {
                to.lock().unwrap().extend(&piece[..len]);
            }
        });
        Terminal { child, keys, drawn }
    }

    /// What the terminal shows now: all that was drawn since it was drawn over last.
    pub(crate) fn screen(&self) -> String {
        let drawn = String::from_utf8_lossy(&self.drawn.lock().unwrap()).into_owned();
        // The last one may be drawn in part.
        let mut frames = drawn.rsplit("\x1b[H").filter(|frame| frame.contains("\x1b[J"));
        frames.next().unwrap_or_default().to_owned()
    }

    pub(crate) fn wait_for(&self, words: &str) {
        wait_until(|| self.screen().contains(words));
    }

    /// What is there after the key was typed.
    pub(crate) fn end_by(mut self, key: &str) -> (Option<i32>, String) {
        self.keys.write_all(key.as_bytes()).unwrap();
        self.end()
    }

    /// What is there once the command has ended.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        // All that was drawn is there once nobody draws any more.
        wait_until(|| Arc::strong_count(&self.drawn) == 1);
        (status.code(), String::from_utf8_lossy(&self.drawn.lock().unwrap()).into_owned())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended by itself, where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
