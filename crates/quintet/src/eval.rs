//! Live tuples: fields that are computed in threads of their own before the tuple is put.

use crate::{Cause, Error, MAX_TUPLE_FIELDS, Space, Tuple, Value};
use core::fmt::Display;
use core::marker::PhantomData;
use quintet_errors::Code;
use quintet_tuple_space::tuple;
use std::any::{Any, type_name};
use std::io;
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle};

/// The first field of the tuple that is put instead of a live tuple that failed. The others are two texts: the name of
/// what failed, and why.
pub use quintet_tuple_space::FAILED;

/// A tuple some of whose fields are computed first. Made by [`live!`](crate::live), put by [`Space::eval`].
pub struct LiveTuple(Vec<LiveField>);

/// A field of a [`LiveTuple`].
pub struct LiveField(Field);

enum Field {
    Ready(Value),
    Computed {
        /// The type of what computes it, which the compiler names after where it stands.
        name: &'static str,
        compute: Compute,
    },
}

type Compute = Box<dyn FnOnce() -> Result<Value, String> + Send>;

/// What can be a field of a live tuple: a value; something callable that gives a value; or something callable that gives
/// a `Result` of one, whose error has words. `How` tells the three apart and is never written down.
pub trait IntoLiveField<How> {
    /// The field.
    fn into_live_field(self) -> LiveField;
}

/// How a value is a field.
pub struct Ready;
/// How what gives a `T` is a field.
pub struct Computed<T>(PhantomData<T>);
/// How what gives a `T` or an `E` is a field.
pub struct Attempted<T, E>(PhantomData<(T, E)>);

impl<V: Into<Value>> IntoLiveField<Ready> for V {
    fn into_live_field(self) -> LiveField {
        LiveField(Field::Ready(self.into()))
    }
}

impl<F, T> IntoLiveField<Computed<T>> for F
where
    F: FnOnce() -> T + Send + 'static,
    T: Into<Value>,
{
    fn into_live_field(self) -> LiveField {
        let compute = Box::new(|| Ok(self().into()));
        LiveField(Field::Computed { name: type_name::<F>(), compute })
    }
}

impl<F, T, E> IntoLiveField<Attempted<T, E>> for F
where
    F: FnOnce() -> Result<T, E> + Send + 'static,
    T: Into<Value>,
    E: Display,
{
    fn into_live_field(self) -> LiveField {
        let compute = Box::new(|| self().map(Into::into).map_err(|error| error.to_string()));
        LiveField(Field::Computed { name: type_name::<F>(), compute })
    }
}

impl LiveField {
    /// A field of `field`.
    pub fn new<How>(field: impl IntoLiveField<How>) -> LiveField {
        field.into_live_field()
    }
}

/// A [`LiveTuple`]: values as in [`tuple!`](crate::tuple), and closures or functions that give one, or a `Result` of one:
/// `live!["square", n, move || n * n]`.
#[macro_export]
macro_rules! live {
    ($($field:expr),+ $(,)?) => {
        $crate::LiveTuple::new(vec![$($crate::LiveField::new($field)),+])
    };
}

/// A live tuple under way. Dropped, the evaluation goes on.
pub struct Evaluation {
    thread: JoinHandle<Result<(), Error>>,
}

impl Evaluation {
    /// Whether the tuple was put, or failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until the tuple was put.
    ///
    /// # Errors
    /// [`Code::TaskFailed`] with what [`FAILED`] says; or what [`Space::out`] says if the tuple could not be put.
    pub fn finish(self) -> Result<(), Error> {
        self.thread.join().unwrap_or_else(|panic| Err(Error::new(Code::TaskFailed, words(&*panic))))
    }
}

/// Why no tuple was put.
struct Failure {
    name: &'static str,
    error: Error,
}

impl LiveTuple {
    /// A live tuple of these fields.
    #[must_use]
    pub fn new(fields: Vec<LiveField>) -> LiveTuple {
        LiveTuple(fields)
    }

    pub(crate) fn evaluate(self, space: Space) -> Result<Evaluation, Error> {
        let count = self.0.len();
        if !(1..=MAX_TUPLE_FIELDS).contains(&count) {
            let text = format!("a tuple has 1 to {MAX_TUPLE_FIELDS} fields, not {count}");
            return Err(Error::new(Code::BadValue, text));
        }
        let thread = named().spawn(move || evaluate(&space, self.0)).map_err(no_thread)?;
        Ok(Evaluation { thread })
    }
}

fn named() -> Builder {
    Builder::new().name("quintet-eval".to_owned())
}

pub(crate) fn no_thread(error: io::Error) -> Error {
    Error::new(Cause::System(Some(error.kind())), format!("cannot start a thread: {error}"))
}

fn evaluate(space: &Space, fields: Vec<LiveField>) -> Result<(), Error> {
    let Failure { name, error } = match compute(fields).and_then(|tuple| put(space, tuple)) {
        Ok(()) => return Ok(()),
        Err(failure) => failure,
    };
    // If the space is gone there is nobody left to tell.
    let _ = space.out(tuple![FAILED, name, error.text()]);
    Err(error)
}

fn put(space: &Space, tuple: Tuple) -> Result<(), Failure> {
    space.out(tuple).map_err(|error| Failure { name: "out", error })
}

/// Computes every field, all at the same time. The first that failed, in the order of the fields, if one did.
fn compute(fields: Vec<LiveField>) -> Result<Tuple, Failure> {
    let values = thread::scope(|scope| {
        let started: Vec<_> = fields.into_iter().map(|field| Started::start(scope, field)).collect();
        let ended = started.into_iter().enumerate().map(|(index, started)| started.end(index));
        // All of them are waited for, whatever the first says.
        ended.collect::<Vec<_>>().into_iter().collect::<Result<Vec<_>, Failure>>()
    })?;
    Tuple::new(values).map_err(|error| Failure { name: "out", error: error.into() })
}

enum Started<'scope> {
    Ready(Value),
    Running(&'static str, ScopedJoinHandle<'scope, Result<Value, String>>),
    Refused(&'static str, io::Error),
}

impl<'scope> Started<'scope> {
    fn start<'env>(scope: &'scope Scope<'scope, 'env>, field: LiveField) -> Self {
        match field.0 {
            Field::Ready(value) => Started::Ready(value),
            Field::Computed { name, compute } => match named().spawn_scoped(scope, compute) {
                Ok(thread) => Started::Running(name, thread),
                Err(error) => Started::Refused(name, error),
            },
        }
    }

    fn end(self, index: usize) -> Result<Value, Failure> {
        let failed = |name, why: String| {
            Err(Failure { name, error: Error::new(Code::TaskFailed, format!("field {index}{why}")) })
        };
        match self {
            Started::Ready(value) => Ok(value),
            Started::Refused(name, error) => Err(Failure { name, error: no_thread(error) }),
            Started::Running(name, thread) => match thread.join() {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(why)) => failed(name, format!(": {why}")),
                Err(panic) => failed(name, format!(" panicked: {}", words(&*panic))),
            },
        }
    }
}

/// What a panic said.
pub(crate) fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}
