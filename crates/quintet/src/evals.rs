//! Live tuples that other processes make: who asks names a function and its arguments, and a worker that has this function makes the tuple.
//!
//! A call is the tuple `("quintet.eval", function, arguments ...)`, which a worker leases. The tuple that its function gives, or
//! `("quintet.failed", function, text)`, is put at the instant at which the call goes. So whoever may take a call can call it off, and whoever may put one
//! asks: in each language.

use crate::eval::words;
use crate::{DEAD_LETTER, Error, FAILED, Lease, MAX_TUPLE_FIELDS, Space, Template, Tuple, Value, ValueError};
use core::fmt::Display;
use quintet_errors::Code;
use quintet_tuple_space::{Field, MAX_SELECT_TEMPLATES, Typed, tuple};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The first field of a tuple that asks workers for a live tuple. The others are the name of a function, and its arguments.
pub const EVAL: &str = "quintet.eval";

/// Functions that a worker may have: it waits for calls of each, and for those of each that were given up.
const MAX_FUNCTIONS: usize = MAX_SELECT_TEMPLATES / 2;
/// Arguments that a call may have, behind its first two fields.
const MAX_ARGUMENTS: usize = MAX_TUPLE_FIELDS - 2;

/// The functions of a worker that makes live tuples, by their names: 1 to 16.
///
/// ```
/// use quintet::{Evals, Lab, template, tuple};
///
/// let evals = Evals::new()
///     .function("square", |n: i64| tuple!["square", n, n * n])
///     .function("number", |text: String| text.parse::<i64>().map(|n| tuple!["number", n]));
///
/// let lab = Lab::embedded();
/// let (space, served) = (lab.space(), lab.space());
/// let worker = std::thread::spawn(move || evals.serve(&served)); // most often another process, on any machine
/// space.eval_on_workers("square", [7i64.into()])?;
/// assert_eq!(space.take(&template!["square", 7i64, ?i64])?, tuple!["square", 7i64, 49i64]);
///
/// space.eval_on_workers("number", ["seven".into()])?;
/// let failed = space.take(&template!["quintet.failed", "number", ?str])?;
/// assert_eq!(failed[2], "invalid digit found in string".into());
/// lab.close();
/// worker.join().expect("it ends with its space")?;
/// # Ok::<(), quintet::Error>(())
/// ```
#[derive(Default)]
pub struct Evals {
    functions: Vec<Function>,
}

struct Function {
    name: String,
    call: Box<dyn Fn(Vec<Value>) -> Result<Tuple, String> + Send + Sync>,
    arguments: Vec<Field>,
}

/// What can make live tuples: a function of up to six arguments, each a number, a truth value, a `String` or [`Bytes`](crate::Bytes), that gives a
/// [`Tuple`], or a `Result` of one whose error has words. `Arguments` are their types, which calls have to have exactly.
pub trait LiveFunction<Arguments>: Send + Sync + 'static {
    /// What matches the arguments of a call.
    fn arguments() -> Vec<Field>;

    /// Calls it with values that match these.
    ///
    /// # Errors
    /// What the function says.
    fn call(&self, arguments: Vec<Value>) -> Result<Tuple, String>;
}

/// What a [`LiveFunction`] gives.
pub trait MadeTuple {
    /// The tuple.
    ///
    /// # Errors
    /// Why there is none.
    fn made(self) -> Result<Tuple, String>;
}

impl MadeTuple for Tuple {
    fn made(self) -> Result<Tuple, String> {
        Ok(self)
    }
}

impl<E: Display> MadeTuple for Result<Tuple, E> {
    fn made(self) -> Result<Tuple, String> {
        self.map_err(|error| error.to_string())
    }
}

macro_rules! live_function {
    ($($argument:ident)*) => {
        impl<F, M, $($argument),*> LiveFunction<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> M + Send + Sync + 'static,
            M: MadeTuple,
            $($argument: Typed + TryFrom<Value, Error = ValueError>,)*
        {
            fn arguments() -> Vec<Field> {
                vec![$(Field::formal::<$argument>()),*]
            }

            fn call(&self, arguments: Vec<Value>) -> Result<Tuple, String> {
                let mut _values = arguments.into_iter();
                self($($argument::try_from(_values.next().ok_or("an argument is missing")?)
                    .map_err(|error| error.to_string())?),*)
                .made()
            }
        }
    };
}

live_function!();
live_function!(A);
live_function!(A B);
live_function!(A B C);
live_function!(A B C D);
live_function!(A B C D E);
live_function!(A B C D E G);

impl Evals {
    /// None so far.
    #[must_use]
    pub fn new() -> Evals {
        Evals::default()
    }

    /// These, and one more. Several may have one name, if their arguments differ in number or type.
    #[must_use]
    pub fn function<Arguments>(mut self, name: &str, function: impl LiveFunction<Arguments>) -> Evals {
        let arguments = arguments_of(&function);
        let call = Box::new(move |values| function.call(values));
        self.functions.push(Function { name: name.to_owned(), call, arguments });
        self
    }

    /// Adds one whose arguments are known only when the program runs, as a function of another language: these fields match the arguments of its calls, and it
    /// is given their values.
    ///
    /// ```
    /// use quintet::{Evals, Field, Lab, Tuple, Value, template, tuple};
    ///
    /// let mut evals = Evals::new();
    /// evals.add("last", vec![Field::formal::<i64>(); 3], |mut values: Vec<Value>| {
    ///     let last = values.pop().ok_or("it has arguments")?;
    ///     Tuple::new(vec!["last".into(), last]).map_err(|error| error.to_string())
    /// })?;
    /// # let lab = Lab::embedded();
    /// # let (space, served) = (lab.space(), lab.space());
    /// # let worker = std::thread::spawn(move || evals.serve(&served));
    /// # space.eval_on_workers("last", [1i64.into(), 2i64.into(), 3i64.into()])?;
    /// # assert_eq!(space.take(&template!["last", ?i64])?, tuple!["last", 3i64]);
    /// # lab.close();
    /// # worker.join().expect("it ends with its space")?;
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::BadValue`] for more than 59 arguments, and above 16 functions; then it was not added.
    pub fn add(
        &mut self,
        name: &str,
        arguments: Vec<Field>,
        function: impl Fn(Vec<Value>) -> Result<Tuple, String> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        if arguments.len() > MAX_ARGUMENTS {
            let text = format!(
                "the function {name:?} has {} arguments, and a call has room for {MAX_ARGUMENTS}",
                arguments.len()
            );
            return Err(Error::new(Code::BadValue, text));
        }
        check_count(self.functions.len() + 1)?;
        self.functions.push(Function { name: name.to_owned(), call: Box::new(function), arguments });
        Ok(())
    }

    /// Makes the live tuples that this worker has functions for, one after the other, the oldest first, until the space is gone. Several threads may do so at a time.
    ///
    /// If this process dies while it makes one, another worker makes it from the beginning. A function that has been begun five times, and whose process has died each time, has
    /// failed. One that panics has failed at once.
    ///
    /// # Errors
    /// [`Code::BadValue`] for no function, or more than 16; [`Code::NotAllowed`] in a cluster's space, for want of the grant `code`; [`Code::Closed`] in a process that was
    /// forked from the one that made the lab; those of the connection.
    pub fn serve(&self, space: &Space) -> Result<(), Error> {
        self.serve_with(|calls| space.select_lease(calls, None), |call, end| call.acknowledge(&[end]))?;
        space.lab().check_process()
    }

    /// As [`serve`](Evals::serve), for a program that waits in its own way, as one that a signal interrupts: `next` leases a tuple that matches one of these
    /// templates, and says which; `acknowledge` has a tuple come at the instant at which that one goes.
    ///
    /// # Errors
    /// As [`serve`](Evals::serve); what `next` and `acknowledge` fail with, unless the space is gone or the call goes on without this worker;
    /// [`Code::Malformed`] if `next` gives what does not match.
    pub fn serve_with(
        &self,
        mut next: impl FnMut(&[Template]) -> Result<(usize, Lease), Error>,
        mut acknowledge: impl FnMut(Lease, Tuple) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let wanted = self.templates()?;
        loop {
            let ended = next(&wanted).and_then(|(which, call)| {
                let end = self.end_of(&wanted, which, call.tuple())?;
                has_ended(acknowledge(call, end))
            });
            match ended {
                Err(error) if is_gone(error.code()) => return Ok(()),
                ended => ended?,
            }
        }
    }

    /// What matches the calls of each function, and then those of each that were given up.
    ///
    /// # Errors
    /// `BadValue` for no function, or too many.
    fn templates(&self) -> Result<Vec<Template>, Error> {
        check_count(self.functions.len())?;
        let calls = self.functions.iter().map(|function| Template::new(function.fields()));
        let given_up = self.functions.iter().map(|function| {
            let letter = [DEAD_LETTER.into(), Field::formal::<str>(), Field::formal::<i64>()];
            Template::new(letter.into_iter().chain(function.fields()).collect())
        });
        Ok(calls.chain(given_up).collect::<Result<_, ValueError>>()?)
    }

    /// What a call comes to.
    ///
    /// # Errors
    /// `Malformed` for what is none of this worker's.
    fn end_of(&self, wanted: &[Template], which: usize, call: &Tuple) -> Result<Tuple, Error> {
        if !wanted.get(which).is_some_and(|template| template.matches(call)) {
            let text = format!("the space gave {call} as what matches template {which}, and it does not");
            return Err(Error::new(Code::Malformed, text));
        }
        Ok(match self.functions.get(which) {
            Some(function) => function.end_of(call),
            None => given_up(call, &self.functions[which - self.functions.len()].name),
        })
    }
}

/// # Errors
/// `BadValue` for none, and for too many.
fn check_count(functions: usize) -> Result<(), Error> {
    if (1..=MAX_FUNCTIONS).contains(&functions) {
        return Ok(());
    }
    let text = format!(
        "a worker has 1 to {MAX_FUNCTIONS} functions, and this one {functions}: others can be another worker's"
    );
    Err(Error::new(Code::BadValue, text))
}

/// Whether the worker goes on behind a call.
///
/// # Errors
/// What its acknowledgement failed with, unless the call goes on without this worker.
fn has_ended(acknowledged: Result<(), Error>) -> Result<(), Error> {
    match acknowledged {
        // Another worker makes it: this one was not heard for too long.
        Err(error) if error.code() == Code::LeaseLost => Ok(()),
        // It has returned, and is given up after some attempts.
        Err(error) if error.code() == Code::TooLarge => Ok(()),
        acknowledged => acknowledged,
    }
}

impl Function {
    /// The fields of the template that matches calls of it.
    fn fields(&self) -> Vec<Field> {
        [EVAL.into(), self.name.as_str().into()].into_iter().chain(self.arguments.iter().cloned()).collect()
    }

    /// What such a call comes to.
    fn end_of(&self, call: &Tuple) -> Tuple {
        let arguments = call.values()[2..].to_vec();
        let made = catch_unwind(AssertUnwindSafe(|| (self.call)(arguments)))
            .unwrap_or_else(|panic| Err(format!("panicked: {}", words(&*panic))));
        made.unwrap_or_else(|text| tuple![FAILED, self.name.as_str(), text])
    }
}

fn arguments_of<Arguments, F: LiveFunction<Arguments>>(_function: &F) -> Vec<Field> {
    F::arguments()
}

fn given_up(letter: &Tuple, name: &str) -> Tuple {
    tuple![FAILED, name, format!("it was given up after {} attempts: {}", letter[2], letter[1])]
}

fn is_gone(code: Code) -> bool {
    matches!(code, Code::Closed | Code::PeerDied | Code::PeerSilent | Code::Unreachable)
}

impl Evals {
    /// The tuple that asks workers for a live tuple, which [`Space::eval_on_workers`] puts: for a program that puts several at one instant, or in a group.
    ///
    /// # Errors
    /// [`Code::BadValue`] for more than 59 arguments.
    pub fn call(function: &str, arguments: impl IntoIterator<Item = Value>) -> Result<Tuple, Error> {
        Ok(Tuple::new([EVAL.into(), function.into()].into_iter().chain(arguments).collect())?)
    }
}

impl Space {
    /// Puts a live tuple for a worker that has this function: see [`Evals`]. When this returns the space has the call, `("quintet.eval", function, arguments ...)`, and it is done
    /// whether or not this process lives. The tuple that the function gives comes once; if it fails, `("quintet.failed", function, text)` does. A call that no worker has begun can be taken back.
    ///
    /// # Errors
    /// [`Code::BadValue`] for more arguments than a tuple has fields; those of [`Space::out`].
    pub fn eval_on_workers(
        &self,
        function: &str,
        arguments: impl IntoIterator<Item = Value>,
    ) -> Result<(), Error> {
        self.out(Evals::call(function, arguments)?)
    }
}
