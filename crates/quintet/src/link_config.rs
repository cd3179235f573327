//! How a process uses its links.

use quintet_messaging::Window;
use std::time::Duration;

/// How a process uses its links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkConfig {
    /// What a peer may have under way to this process.
    pub window: Window,
    /// How long a wait spins before it sleeps.
    pub spin: Duration,
}

impl Default for LinkConfig {
    /// The default [`Window`], and a spin of 8 microseconds.
    fn default() -> Self {
        LinkConfig { window: Window::default(), spin: quintet_link::SPIN }
    }
}
