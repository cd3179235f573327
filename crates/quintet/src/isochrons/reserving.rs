//! Variables whose values are read and whose next places are reserved at one instant, so that nobody sees or changes them until they have new values.

use super::error::would_wait_for_itself;
use super::host::Core;
use super::isochron::{Executed, Isochron, PendingIsochron};
use super::maker::IsochronMaker;
use super::promise::Promise;
use crate::{Bytes, Cause, Code, Error, IsonetCause, NoValue};
use quintet_isotach::{Place, Variable};
use std::sync::Arc;
use std::time::Duration;

impl IsochronMaker {
    /// Reads variables, and reserves their next places at the same instant: whoever reads them behind that waits until they have new values ([`Reserved::assign`]). What
    /// this member reserves so of one variable follows each other, in the order in which it was asked for; it waits for no reservation of other variables. Where a view begins
    /// before it is executed, it is begun again. [`Isonet::update`](super::Isonet::update) does the whole of it.
    ///
    /// # Errors
    /// [`Code::BadValue`]: no variable, one twice, or one that there is not. As [`Isonet::isochron`](super::Isonet::isochron).
    pub fn reserve(&self, variables: &[Variable]) -> Result<Reserving, Error> {
        self.core.board.check_process()?;
        if variables.is_empty() || (1..variables.len()).any(|at| variables[..at].contains(&variables[at])) {
            return Err(Error::new(Code::BadValue, "an update is of one variable or several, each once"));
        }
        // What cannot be is refused before anybody waits for it.
        compose(&self.core, variables)?.abandon();
        let (core, promise) = (Arc::clone(&self.core), Arc::new(Promise::awaited()));
        let shared = Arc::new(Shared { core, variables: variables.to_vec(), promise });
        let on_its_turn = Arc::clone(&shared);
        self.core.turns.take(variables, Box::new(move || on_its_turn.begin()));
        Ok(Reserving { shared })
    }
}

fn compose(core: &Arc<Core>, variables: &[Variable]) -> Result<Isochron, Error> {
    let mut isochron = Isochron::open_unbound(core)?;
    let mut add = |variable: &Variable| {
        isochron.read(*variable)?;
        isochron.schedule(*variable)
    };
    match variables.iter().try_for_each(&mut add) {
        Ok(()) => Ok(isochron),
        Err(error) => {
            isochron.abandon();
            Err(error)
        }
    }
}

/// Begins an isochron again as long as views begin before it is executed; then hands over what it came to.
fn in_any_view(
    mut begin: impl FnMut() -> Result<PendingIsochron, Error> + Send + 'static,
    done: impl FnOnce(Result<Executed, Error>) + Send + 'static,
) {
    let again = |error: &Error| error.cause() == &Cause::Isonet(IsonetCause::ViewChanged);
    match begin() {
        Err(error) => done(Err(error)),
        Ok(pending) => pending.then(move |executed| match executed {
            Err(error) if again(&error) => in_any_view(begin, done),
            executed => done(executed),
        }),
    }
}

/// Variables that are reserved, or to be.
struct Shared {
    core: Arc<Core>,
    variables: Vec<Variable>,
    promise: Arc<Promise<Result<Executed, Error>>>,
}

impl Shared {
    /// Its turn has come.
    fn begin(self: Arc<Self>) {
        if self.promise.is_unwanted() {
            return self.give_up();
        }
        let beginning = Arc::clone(&self);
        let begin = move || compose(&beginning.core, &beginning.variables)?.begin();
        in_any_view(begin, move |executed| {
            if executed.is_err() {
                self.give_up();
            }
            if let Some(Ok(executed)) = self.promise.come(executed) {
                self.restore(&executed.values);
            }
        });
    }

    fn give_up(&self) {
        self.core.turns.give_up(&self.variables);
    }

    /// Gives the places that are reserved these values; `done` is told.
    fn assign(
        self: &Arc<Self>,
        values: Vec<Bytes>,
        done: impl FnOnce(Result<Place, Error>) + Send + 'static,
    ) {
        let [beginning, ending] = [(); 2].map(|()| Arc::clone(self));
        let begin = move || {
            let mut isochron = Isochron::open_unbound(&beginning.core)?;
            let mut pairs = beginning.variables.iter().zip(&values);
            match pairs.try_for_each(|(variable, value)| isochron.assign(*variable, value.clone())) {
                Ok(()) => isochron.begin(),
                Err(error) => {
                    isochron.abandon();
                    Err(error)
                }
            }
        };
        in_any_view(begin, move |executed| {
            ending.give_up();
            done(executed.map(|executed| executed.place));
        });
    }

    /// They keep what they have: zeros, where that is nothing.
    fn restore(self: &Arc<Self>, values: &[Result<Bytes, NoValue>]) {
        let pairs = self.variables.iter().zip(values);
        let before = |(variable, value): (&Variable, &Result<Bytes, NoValue>)| match value {
            Ok(value) => value.clone(),
            Err(_) => vec![0; self.bytes_of(*variable)].into(),
        };
        // Of an isonet that has ended no place matters.
        self.assign(pairs.map(before).collect(), |_| {});
    }

    fn bytes_of(&self, variable: Variable) -> usize {
        self.core.views.first().1.shape(variable).map_or(0, |shape| shape.bytes)
    }
}

/// Variables that are to be reserved. Dropped, they keep what they have.
#[must_use = "dropped, the variables keep what they have"]
pub struct Reserving {
    shared: Arc<Shared>,
}

impl Reserving {
    /// The variables, once they are reserved, if they are within `limit`: given once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<Reserved, Error>> {
        let Shared { core, promise, .. } = &*self.shared;
        if let Err(error) = core.board.check_process() {
            return Some(Err(error));
        }
        if core.board.is_poller() && !promise.is_here() {
            return Some(Err(would_wait_for_itself()));
        }
        let executed = promise.wait(limit)?;
        Some(executed.map(|Executed { place, values }| {
            let shared = Some(Arc::clone(&self.shared));
            Reserved { shared, place, values }
        }))
    }

    /// The variables, however long it takes until they are reserved.
    ///
    /// # Errors
    /// As [`Isochron::execute`], without [`IsonetCause::ViewChanged`].
    pub fn finish(mut self) -> Result<Reserved, Error> {
        loop {
            if let Some(reserved) = self.wait(Duration::MAX) {
                return reserved;
            }
        }
    }

    /// Whether [`wait`](Reserving::wait) would say at once, or has said.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.shared.core.board.is_inherited() || self.shared.promise.is_here()
    }

    /// Calls back once [`is_done`](Reserving::is_done): now, or on the thread that brings it about. The callback hands over and returns.
    pub fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        match self.shared.core.board.is_inherited() {
            true => callback(),
            false => self.shared.promise.notify(callback),
        }
    }
}

impl Drop for Reserving {
    fn drop(&mut self) {
        if !self.shared.core.board.is_inherited()
            && let Some(Ok(executed)) = self.shared.promise.renounce()
        {
            self.shared.restore(&executed.values);
        }
    }
}

/// Variables whose next places this member has reserved: whoever reads them waits until [`assign`](Reserved::assign) gives values. Dropped, they keep what they have, or are zeros
/// where that is nothing.
#[must_use = "dropped, the variables keep what they have"]
pub struct Reserved {
    /// None once they have values, or are to have them.
    shared: Option<Arc<Shared>>,
    place: Place,
    values: Vec<Result<Bytes, NoValue>>,
}

impl Reserved {
    /// Where they were read, in the one order.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// What they have, in the order in which they were said: values, or why there is none.
    pub fn values(&self) -> &[Result<Bytes, NoValue>] {
        &self.values
    }

    /// Gives them values, in that order. It happens, whether somebody waits for it or not; where a view begins before, in the next one.
    ///
    /// # Errors
    /// [`Code::BadValue`]: there are more or fewer values than variables, or one is of another size. They keep what they have.
    pub fn assign(mut self, values: Vec<Bytes>) -> Result<PendingUpdate, Error> {
        self.check(&values)?;
        let shared = self.shared.take().ok_or_else(|| Error::new(Code::Closed, "they have values"))?;
        shared.core.board.check_process()?;
        let (core, promise) = (Arc::clone(&shared.core), Arc::new(Promise::awaited()));
        let comes = Arc::clone(&promise);
        shared.assign(values, move |done| drop(comes.come(done)));
        Ok(PendingUpdate { core, promise })
    }

    fn check(&self, values: &[Bytes]) -> Result<(), Error> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if values.len() != shared.variables.len() {
            let text = format!(
                "an update of {} variables gives as many values, not {}",
                shared.variables.len(),
                values.len()
            );
            return Err(Error::new(Code::BadValue, text));
        }
        for (variable, value) in shared.variables.iter().zip(values) {
            let bytes = shared.bytes_of(*variable);
            if value.len() != bytes {
                let text =
                    format!("variable {} has {bytes} bytes, and its new value {}", variable.0, value.len());
                return Err(Error::new(Code::BadValue, text));
            }
        }
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take()
            && !shared.core.board.is_inherited()
        {
            shared.restore(&self.values);
        }
    }
}

/// Variables that get new values. Dropped, it goes on.
#[must_use = "whether variables have their values is known by waiting for it"]
pub struct PendingUpdate {
    core: Arc<Core>,
    promise: Arc<Promise<Result<Place, Error>>>,
}

impl PendingUpdate {
    /// Where the values were given, in the one order, if that is known within `limit`: said once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<Place, Error>> {
        if let Err(error) = self.core.board.check_process() {
            return Some(Err(error));
        }
        if self.core.board.is_poller() && !self.promise.is_here() {
            return Some(Err(would_wait_for_itself()));
        }
        self.promise.wait(limit)
    }

    /// The same, however long it takes.
    ///
    /// # Errors
    /// [`IsonetCause`]: this member has stopped; the values may have been given. [`Code::Closed`]: the isonet was closed. [`Code::BadValue`]: a handler would wait for itself.
    pub fn finish(mut self) -> Result<Place, Error> {
        loop {
            if let Some(done) = self.wait(Duration::MAX) {
                return done;
            }
        }
    }

    /// Whether [`wait`](PendingUpdate::wait) would say at once, or has said.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.core.board.is_inherited() || self.promise.is_here()
    }

    /// Calls back once [`is_done`](PendingUpdate::is_done): now, or on the thread that brings it about. The callback hands over and returns.
    pub fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        match self.core.board.is_inherited() {
            true => callback(),
            false => self.promise.notify(callback),
        }
    }
}
