//! The queue: customers come at random, wait for the server in order, and are served for a random time.

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::Output;
use nexosim::simulation::{Mailbox, SimInit, SimulationError};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// From one customer to the next, in seconds.
const BETWEEN: f64 = 10e-6;
/// The service of one, in seconds.
const SERVICE: f64 = 8e-6;

/// Customers that were served, for the main program: a model is out of its reach.
static SERVED: AtomicU64 = AtomicU64::new(0);

/// Exponential times from SplitMix64, as Quintet draws them.
#[derive(Serialize, Deserialize)]
struct Times {
    state: u64,
    mean: f64,
}

impl Times {
    fn next(&mut self) -> Duration {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let open = (((z ^ (z >> 31)) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64;
        // An event must lie in the future: no time is taken as one nanosecond.
        Duration::from_nanos(((-self.mean * open.ln() * 1e9).round() as u64).max(1))
    }
}

#[derive(Serialize, Deserialize)]
struct Source {
    customers: Output<MonotonicTime>,
    times: Times,
    left: u64,
}

#[Model]
impl Source {
    #[nexosim(init)]
    async fn init(&mut self, context: &Context<Self>) {
        self.schedule(context);
    }

    fn schedule(&mut self, context: &Context<Self>) {
        if self.left > 0 {
            self.left -= 1;
            let gap = self.times.next();
            context.schedule_event(gap, schedulable!(Self::come), ()).expect("it lies in the future");
        }
    }

    #[nexosim(schedulable)]
    async fn come(&mut self, _: (), context: &Context<Self>) {
        self.customers.send(context.time()).await;
        self.schedule(context);
    }
}

#[derive(Serialize, Deserialize)]
struct Server {
    times: Times,
    /// When each came that is here; the first is served.
    here: VecDeque<MonotonicTime>,
    waited: Duration,
}

#[Model]
impl Server {
    async fn enter(&mut self, came: MonotonicTime, context: &Context<Self>) {
        self.here.push_back(came);
        if self.here.len() == 1 {
            self.serve(context);
        }
    }

    fn serve(&mut self, context: &Context<Self>) {
        let Some(came) = self.here.front() else { return };
        self.waited += context.time().duration_since(*came);
        let service = self.times.next();
        context.schedule_event(service, schedulable!(Self::leave), ()).expect("it lies in the future");
    }

    #[nexosim(schedulable)]
    async fn leave(&mut self, _: (), context: &Context<Self>) {
        self.here.pop_front();
        SERVED.fetch_add(1, Ordering::Relaxed);
        self.serve(context);
    }
}

/// Simulates so many customers, on one thread; how many were served.
///
/// # Errors
///
/// The simulation could not be made or run.
pub(crate) fn simulate(customers: u64) -> Result<u64, SimulationError> {
    SERVED.store(0, Ordering::Relaxed);
    let mut source =
        Source { customers: Output::default(), times: Times { state: 1, mean: BETWEEN }, left: customers };
    let server = Server {
        times: Times { state: 1 << 40, mean: SERVICE },
        here: VecDeque::new(),
        waited: Duration::ZERO,
    };
    let (source_box, server_box) = (Mailbox::new(), Mailbox::new());
    source.customers.connect(Server::enter, &server_box);
    let bench = SimInit::with_num_threads(1);
    let bench = bench.add_model(source, source_box, "source").add_model(server, server_box, "server");
    bench.init(MonotonicTime::EPOCH)?.run()?;
    Ok(SERVED.load(Ordering::Relaxed))
}
