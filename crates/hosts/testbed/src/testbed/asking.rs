//! How a switch is asked over its socket.

use super::request::Request;
use super::{Testbed, TestbedError};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long a switch may take for an answer: it makes a device in a millisecond.
const PATIENCE: Duration = Duration::from_secs(20);

impl Testbed {
    /// Asks the switch, and waits for its answer.
    pub(super) fn ask(&self, request: &Request) -> Result<Value, TestbedError> {
        let ended = || TestbedError::SwitchEnded { testbed: self.state.name.clone() };
        let doing = "ask the switch";
        let stream = UnixStream::connect(self.state.socket()).map_err(|_| ended())?;
        let answer = exchange(stream, request).map_err(TestbedError::system(doing))?.ok_or_else(ended)?;
        match answer["error"].as_str() {
            Some(error) => Err(TestbedError::system(doing)(error)),
            None => Ok(answer),
        }
    }
}

/// The answer to a request. `None` if the other side ended before.
fn exchange(mut stream: UnixStream, request: &Request) -> io::Result<Option<Value>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{}\n", request.to_json()).as_bytes())?;
    let mut line = String::new();
    let length = BufReader::new(stream).read_line(&mut line)?;
    if length == 0 { Ok(None) } else { Ok(Some(serde_json::from_str(&line)?)) }
}
