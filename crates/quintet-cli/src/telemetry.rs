//! How a process of this program is seen from outside, for the commands that serve something.

use crate::log::{Log, LogArguments, Sink, to_standard_error};
use crate::metrics::{Metrics, MetricsArguments};
use clap::Args;
use quintet::Error;
use quintet_settings::Settings;

#[derive(Args, Clone)]
pub(crate) struct TelemetryArguments {
    #[command(flatten)]
    metrics: MetricsArguments,
    #[command(flatten)]
    log: LogArguments,
}

impl TelemetryArguments {
    /// The same options, for another process of this program.
    pub(crate) fn words(&self) -> Vec<String> {
        [self.metrics.words(), self.log.words()].concat()
    }

    /// Looks whether another process of this program could tell so what it has to: before something is done that cannot be done twice.
    ///
    /// # Errors
    /// Those of [`TelemetryArguments::start`].
    pub(crate) fn look(&self, settings: &Settings) -> Result<(), Error> {
        self.metrics.look()?;
        self.log.look(settings)
    }

    /// Writes events from now on, and listens for who asks for metrics, where that is asked for.
    ///
    /// # Errors
    /// Those of [`MetricsArguments::listen`] and [`LogArguments::start`].
    pub(crate) fn start(&self, settings: &Settings) -> Result<(Log, Metrics), Error> {
        self.start_to(to_standard_error(), settings)
    }

    /// The same, with events written there.
    ///
    /// # Errors
    /// As [`TelemetryArguments::start`].
    pub(crate) fn start_to(&self, sink: Sink, settings: &Settings) -> Result<(Log, Metrics), Error> {
        let metrics = self.metrics.listen()?;
        Ok((self.log.start(sink, settings)?, metrics))
    }
}
