//! What time alone brings: tokens expire, and the machine's certificate is made anew before it ends.
//!
//! The keeper looks once a minute. A renewal asks other machines, and so runs on a thread of its own. What counts is the file: also a
//! certificate that somebody else has put there (`quintet rotate`) is shown from the next look on.

use crate::notice::Notice;
use crate::renewal::{ends_soon, renew, renewal_time};
use crate::{AgentError, Told};
use core::time::Duration;
use quintet_identity::{tokens, validity};
use quintet_link::Credentials;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime};

/// How often it is looked, and how long after a renewal that failed the next one is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpkeepTimes {
    /// Between two looks.
    pub look: Duration,
    /// After a renewal that failed.
    pub again: Duration,
}

impl Default for UpkeepTimes {
    /// A minute, and an hour.
    fn default() -> Self {
        UpkeepTimes { look: Duration::from_secs(60), again: Duration::from_secs(60 * 60) }
    }
}

/// The keeper's part that looks after tokens and the certificate.
pub(crate) struct Upkeep {
    times: UpkeepTimes,
    folder: PathBuf,
    credentials: Credentials,
    told: Told,
    /// The identity's text whose certificate is shown.
    shown: Vec<u8>,
    /// What went wrong at the last look, so that it is told once and not with every look.
    trouble: Option<String>,
    next_look: Instant,
    renewal: Option<JoinHandle<()>>,
    /// The certificate is not made anew before.
    not_before: Option<Instant>,
}

impl Upkeep {
    /// For the agent with this folder, which shows its certificate by these credentials.
    pub(crate) fn new(times: UpkeepTimes, folder: &Path, credentials: Credentials, told: Told) -> Upkeep {
        Upkeep {
            times,
            folder: folder.to_owned(),
            credentials,
            told,
            // The first look takes over what the file says.
            shown: Vec::new(),
            trouble: None,
            next_look: Instant::now(),
            renewal: None,
            not_before: None,
        }
    }

    /// From now on it looks that often.
    pub(crate) fn set_times(&mut self, times: UpkeepTimes) {
        self.times = times;
    }

    /// How long until the next look.
    pub(crate) fn wait(&self) -> Duration {
        self.next_look.saturating_duration_since(Instant::now())
    }

    /// Looks, if it is time to. Whether it was.
    pub(crate) fn look(&mut self) -> bool {
        if !self.wait().is_zero() {
            return false;
        }
        let now = SystemTime::now();
        let looked = self.look_at_tokens(now).and_then(|()| self.look_at_certificate(now));
        let trouble = looked.err().map(|error| error.to_string());
        if let Some(text) = trouble.clone().filter(|_| trouble != self.trouble) {
            (self.told)(&Notice::Trouble { text });
        }
        self.trouble = trouble;
        self.next_look = Instant::now() + self.times.look;
        true
    }

    /// Tokens at which somebody has looked after their time are over for good, wherever the clock is set then.
    fn look_at_tokens(&self, now: SystemTime) -> Result<(), AgentError> {
        tokens(&self.folder, now).map(drop).map_err(AgentError::Token)
    }

    fn look_at_certificate(&mut self, now: SystemTime) -> Result<(), AgentError> {
        let text = quintet_identity::read(&self.folder)?;
        if text != self.shown {
            let unusable = |error| AgentError::Credentials(self.folder.clone(), error);
            self.credentials.renew(&text).map_err(unusable)?;
            self.shown.clone_from(&text);
        }
        let is_busy = self.renewal.as_ref().is_some_and(|renewal| !renewal.is_finished());
        let is_early = self.not_before.is_some_and(|time| Instant::now() < time);
        if is_busy || is_early || now < renewal_time(validity(&text)?) {
            return Ok(());
        }
        self.not_before = Some(Instant::now() + self.times.again);
        let (folder, told) = (self.folder.clone(), self.told.clone());
        let begun = std::thread::Builder::new().name("quintet-renewal".to_owned());
        let begun = begun.spawn(move || renew_and_tell(&folder, &told));
        self.renewal = Some(begun.map_err(|error| AgentError::System {
            doing: "start a thread that has the certificate made anew".to_owned(),
            error,
        })?);
        Ok(())
    }
}

/// Has the certificate made anew, which the next look finds, and tells how that went.
fn renew_and_tell(folder: &Path, told: &Told) {
    told(&match renew(folder) {
        Ok(renewed) => Notice::Renewed(renewed),
        Err(error) => {
            let left = crate::renewal::certificate(folder).ok();
            let left = left.and_then(|valid| ends_soon(valid, SystemTime::now()));
            Notice::NotRenewed { text: error.to_string(), ends_in: left }
        }
    });
}
