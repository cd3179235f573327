//! `--metrics`: what this process tells of itself in numbers, for Prometheus.
//!
//! Off unless it is asked for. What is counted is counted anyway; each scrape asks the nodes of this process once.
//!
//! | file | holds |
//! | --- | --- |
//! | `metrics.rs` | the options, and where the numbers come from |
//! | `metrics/exposition.rs` | the text that a scraper reads |
//! | `metrics/endpoint.rs`, `metrics/connection.rs` | who is answered: one thread for all connections; one of them |
//! | `metrics/request.rs` | which requests are answered, and in whose name they may come |

mod connection;
mod endpoint;
mod exposition;
mod request;

use crate::connection::refused;
use clap::Args;
use endpoint::Endpoint;
use quintet::{Code, Error, Measurement, ServerMeter};
use request::Names;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long one part of this process may take to tell its numbers. A scraper waits for 10 seconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

#[derive(Args, Clone)]
pub(crate) struct MetricsArguments {
    /// Tell metrics to Prometheus here: http://HOST:PORT/metrics, on loopback. docs/telemetry.md lists them
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// Let --metrics listen where other machines reach it, too. Whoever does may read them, unencrypted
    #[arg(long, requires = "metrics")]
    metrics_open: bool,
}

/// A part of this process that tells numbers. Its name is their label `part`.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    /// Which of several spaces that this process keeps: their label `space`.
    pub(crate) space: Option<String>,
    /// None if it does not answer.
    pub(crate) measure: Box<dyn Fn(Duration) -> Option<Vec<Measurement>> + Send>,
}

impl Part {
    /// A space that this process serves.
    pub(crate) fn space(meter: ServerMeter) -> Part {
        Part { name: "space", space: None, measure: Box::new(move |limit| meter.measure(limit)) }
    }

    /// A space of that name that this process keeps for a cluster.
    pub(crate) fn kept(name: String, meter: ServerMeter) -> Part {
        Part { name: "kept", space: Some(name), ..Part::space(meter) }
    }

    /// A kernel that this process is, whichever it is now.
    pub(crate) fn kernel(meter: Arc<Mutex<ServerMeter>>) -> Part {
        let measure = move |limit| {
            let meter = meter.lock().unwrap_or_else(PoisonError::into_inner).clone();
            meter.measure(limit)
        };
        Part { name: "kernel", space: None, measure: Box::new(measure) }
    }
}

/// Where metrics are to be told, if they are: it is listened there, and nobody is answered so far.
pub(crate) struct Metrics(Option<(TcpListener, SocketAddr, Names)>);

impl MetricsArguments {
    /// The same options, for another process of this program.
    pub(crate) fn words(&self) -> Vec<String> {
        let address = self.metrics.iter().flat_map(|address| ["--metrics".to_owned(), address.clone()]);
        address.chain(self.metrics_open.then(|| "--metrics-open".to_owned())).collect()
    }

    /// Looks whether another process of this program could listen where it was asked for. The port is given back at once.
    ///
    /// # Errors
    /// Those of [`MetricsArguments::listen`].
    pub(crate) fn look(&self) -> Result<(), Error> {
        self.listen().map(drop)
    }

    /// Listens where it was asked for.
    ///
    /// # Errors
    /// [`Code::BadValue`]: no address; [`Code::NotAllowed`]: other machines could reach it, and that was not allowed. Or somebody else listens
    /// there.
    pub(crate) fn listen(&self) -> Result<Metrics, Error> {
        let Some(text) = &self.metrics else { return Ok(Metrics(None)) };
        let bad = |error: &dyn std::fmt::Display| {
            Error::new(
                Code::BadValue,
                format!("--metrics {text}: {error}; expected HOST:PORT, 127.0.0.1:9464 say"),
            )
        };
        let addresses: Vec<SocketAddr> = text.to_socket_addrs().map_err(|error| bad(&error))?.collect();
        let first = *addresses.first().ok_or_else(|| bad(&"a name without an address"))?;
        if !self.metrics_open && addresses.iter().any(|address| !address.ip().is_loopback()) {
            let text = format!(
                "--metrics {text}: other machines could read them there, and what they read is not encrypted: listen at 127.0.0.1, or add --metrics-open"
            );
            return Err(Error::new(Code::NotAllowed, text));
        }
        let doing = format!("listen at {first} for --metrics");
        let listener = TcpListener::bind(first).map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => Error::new(Code::AddressInUse, format!("{doing}: {error}")),
            _ => refused(&doing)(error),
        })?;
        let address = listener.local_addr().map_err(refused(&doing))?;
        let names = Names::of(text, address.ip());
        Ok(Metrics(Some((listener, address, names))))
    }
}

impl Metrics {
    /// Where they are told, as a scraper has it.
    pub(crate) fn url(&self) -> Option<String> {
        self.0.as_ref().map(|(_, address, _)| format!("http://{address}/metrics"))
    }

    /// Answers from now on, in a thread that ends with the process.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn answer(self, parts: Vec<Part>) -> Result<(), Error> {
        self.answer_with(parts, Vec::new)
    }

    /// The same where there are further parts at times: `further` says which there are now.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn answer_with(
        self,
        mut parts: Vec<Part>,
        further: impl Fn() -> Vec<Part> + Send + 'static,
    ) -> Result<(), Error> {
        let Some((listener, _, names)) = self.0 else { return Ok(()) };
        let lasting = parts.len();
        let page = move || {
            parts.truncate(lasting);
            parts.extend(further());
            exposition::page(&parts, ANSWER_LIMIT)
        };
        Endpoint::start(listener, names, Box::new(page)).map_err(refused("begin to tell metrics"))
    }
}
