//! How long this process's operations take, where its job keeps that: `quintet run --histograms`.

use crate::trace::process_name;
use quintet_runtime::Histograms;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder for the job's interval logs. `quintet run --histograms` sets it.
const FOLDER: &str = "QUINTET_HISTOGRAMS";

/// The interval log of a connection of this process, if its job keeps them: `NAME-PID.hlog`, with a number if it is not the first.
pub(crate) fn of_a_connection() -> Option<Histograms> {
    static CONNECTIONS: AtomicU32 = AtomicU32::new(0);
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty())?;
    let earlier = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
    let number = if earlier == 0 { String::new() } else { format!("-{}", earlier + 1) };
    let name = process_name().replace([' ', '/'], "-");
    let path = Path::new(&folder).join(format!("{name}-{}{number}.hlog", std::process::id()));
    let made = Histograms::create(&path);
    made.inspect_err(|error| {
        tracing::warn!(target: "quintet::histograms", %error, "{} cannot be written: {error}", path.display());
    })
    .ok()
}
