//! How a process uses its links.

use crate::stack::Liveness;
use crate::{Error, Packing};
use quintet_contract::Span;
use quintet_link::Packets;
use quintet_messaging::Window;
use quintet_settings::{
    LINK_KEEP_ALIVE_MS, LINK_PACK, LINK_RESUME_WINDOW_MS, LINK_SILENCE_LIMIT_MS, LINK_SPIN_US,
    LINK_TWO_PACKETS, LINK_WINDOW_BYTES, LINK_WINDOW_FRAMES, Number, Settings,
};
use std::time::Duration;

/// How a process uses its links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkConfig {
    /// What a peer may have under way to this process.
    pub window: Window,
    /// How long a wait spins before it sleeps.
    pub spin: Duration,
    /// How many writes a frame is sent with over a Unix socket, TCP or TLS.
    pub packets: Packets,
    /// A server unheard for this long is asked for a sign of life, by a client that waits for it.
    pub keep_alive: Duration,
    /// How long the server may leave that unanswered, and a client's first words, until the client gives it up.
    pub silence_limit: Duration,
    /// How long a link that can be made again may be cut, until what went over it is over.
    pub resume_window: Duration,
    /// Whether long data are packed before they are put.
    pub packing: Packing,
}

impl LinkConfig {
    /// As the settings of `link` say.
    ///
    /// # Errors
    /// [`Code::BadValue`](crate::Code::BadValue): `link.pack` is no word for it.
    pub fn from_settings(settings: &Settings) -> Result<LinkConfig, Error> {
        let fits = |setting: &Number| u32::try_from(settings.number(setting)).unwrap_or(u32::MAX);
        let milliseconds = |setting: &Number| Duration::from_millis(settings.number(setting));
        Ok(LinkConfig {
            window: Window { slots: fits(&LINK_WINDOW_FRAMES), bytes: fits(&LINK_WINDOW_BYTES) },
            spin: Duration::from_micros(settings.number(&LINK_SPIN_US)),
            packets: if settings.switch(&LINK_TWO_PACKETS) { Packets::Two } else { Packets::One },
            keep_alive: milliseconds(&LINK_KEEP_ALIVE_MS),
            silence_limit: milliseconds(&LINK_SILENCE_LIMIT_MS),
            resume_window: milliseconds(&LINK_RESUME_WINDOW_MS),
            packing: settings.text(&LINK_PACK).parse()?,
        })
    }

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
    /// The default [`Window`], a spin of 8 microseconds, one packet a frame, [`Liveness::OF_CLIENT`], and [`Packing::Auto`].
    fn default() -> Self {
        let Liveness { keep_alive, silence_limit, resume_window } = Liveness::OF_CLIENT;
        LinkConfig {
            window: Window::default(),
            spin: quintet_link::SPIN,
            packets: Packets::One,
            keep_alive: keep_alive.into(),
            silence_limit: silence_limit.into(),
            resume_window: resume_window.into(),
            packing: Packing::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_settings::Sources;

    #[test]
    fn the_settings_of_links_reach_them() {
        let given = [
            "link.window_frames=9",
            "link.window_bytes=2048",
            "link.spin_us=0",
            "link.two_packets=true",
            "link.keep_alive_ms=20",
            "link.silence_limit_ms=30",
            "link.resume_window_ms=0",
            "link.pack=always",
        ];
        let sources = Sources { arguments: given.map(str::to_owned).into(), ..Sources::default() };
        let settings = Settings::load(&sources).expect("good values");
        let expected = LinkConfig {
            window: Window { slots: 9, bytes: 2048 },
            spin: Duration::ZERO,
            packets: Packets::Two,
            keep_alive: Duration::from_millis(20),
            silence_limit: Duration::from_millis(30),
            resume_window: Duration::ZERO,
            packing: Packing::Always,
        };
        assert_eq!(LinkConfig::from_settings(&settings).unwrap(), expected);
        assert_eq!(LinkConfig::from_settings(&Settings::default()).unwrap(), LinkConfig::default());
    }
}
