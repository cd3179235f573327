//! How a process uses its links.

use crate::stack::Liveness;
use quintet_contract::Span;
use quintet_messaging::Window;
use std::time::Duration;

/// How a process uses its links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkConfig {
    /// What a peer may have under way to this process.
    pub window: Window,
    /// How long a wait spins before it sleeps.
    pub spin: Duration,
    /// A server unheard for this long is asked for a sign of life, by a client that waits for it.
    pub keep_alive: Duration,
    /// How long the server may leave that unanswered, and a client's first words, until the client gives it up.
    pub silence_limit: Duration,
    /// How long a link that can be made again may be cut, until what went over it is over.
    pub resume_window: Duration,
}

impl LinkConfig {
    /// A client's: it asks a silent server for a sign of life.
    pub(crate) fn liveness_of_client(&self) -> Liveness {
        Liveness {
            keep_alive: Span::from(self.keep_alive),
            silence_limit: Span::from(self.silence_limit),
            resume_window: Span::from(self.resume_window),
        }
    }

    /// A server's. It pings nobody: a client is not heard while its program computes, and is none the worse for it.
    pub(crate) fn liveness_of_server(&self) -> Liveness {
        Liveness { resume_window: Span::from(self.resume_window), ..Liveness::OF_SERVER }
    }
}

impl Default for LinkConfig {
    /// The default [`Window`], a spin of 8 microseconds, and [`Liveness::OF_CLIENT`].
    fn default() -> Self {
        let Liveness { keep_alive, silence_limit, resume_window } = Liveness::OF_CLIENT;
        LinkConfig {
            window: Window::default(),
            spin: quintet_link::SPIN,
            keep_alive: keep_alive.into(),
            silence_limit: silence_limit.into(),
            resume_window: resume_window.into(),
        }
    }
}
