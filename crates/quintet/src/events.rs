//! Where the host's own events may go.

use quintet_runtime::EventSink;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::Builder;

/// Events that wait to be written. While there are so many, further ones are dropped: the first say what is wrong.
const WAITING: usize = 64;

/// Writes each event as a line to the standard error, from a thread of its own: nobody who reads it late, or not at all, holds the
/// host up. Where the system refuses a thread nothing is written.
#[must_use]
pub fn to_standard_error() -> EventSink {
    let (lines, waiting) = sync_channel::<String>(WAITING);
    let write = move || {
        for line in waiting {
            // Whoever closed it wants to know nothing.
            let _ = writeln!(std::io::stderr(), "quintet: {line}");
        }
    };
    // Without the thread there is nobody to send to, and the sink drops everything.
    let _ = Builder::new().name("quintet-events".to_owned()).spawn(write);
    Arc::new(move |event| {
        let _ = lines.try_send(event.to_string());
    })
}
