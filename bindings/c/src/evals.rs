//! quintet_evals - live tuples that workers make
//!
//! A *live tuple* is made by a function of a worker, in whichever process and on whichever machine: a program asks for it by the function's name, with arguments
//! (`quintet_space_eval_on_workers`), and takes it when it comes. A call is a tuple, `("quintet.eval", function, arguments ...)`, that a worker leases; the tuple that its function
//! gives is put at the instant at which the call goes. So it **comes once**, whoever is killed: if a worker dies while it makes one, another makes it from the beginning. A function
//! that has been begun five times, and whose process has died each time, has failed.
//!
//! A failure is a tuple as well, `("quintet.failed", function, text)`, in the place of the other. Who waits for a live tuple waits for that too (`quintet_space_select`).
//!
//! A call waits until a worker has a function of this name with arguments of these types. One that no worker has begun can be called off: whoever takes its tuple has done so.
//! Workers in Rust, and calls from any language, are the same.
//!
//! Functions are called by the program's own threads and by no other, in `quintet_evals_serve`: one call at a time in each thread. Those that wait for each other's tuples need a
//! thread each.
//!
//! ```c
//! static void square(quintet_eval *eval, void *unused) {
//!     const quintet_tuple *arguments;
//!     quintet_tuple *made;
//!     int64_t n;
//!     quintet_eval_arguments(eval, &arguments);
//!     quintet_tuple_get_int64(arguments, 0, &n);
//!     quintet_tuple_new(&made);
//!     quintet_tuple_add_string(made, "square", QUINTET_NUL_TERMINATED);
//!     quintet_tuple_add_int64(made, n);
//!     quintet_tuple_add_int64(made, n * n);
//!     if (quintet_eval_give(eval, made) != QUINTET_OK) quintet_eval_fail(eval, quintet_error_message());
//!     quintet_tuple_free(made);
//! }
//! ...
//! quintet_tuple_new(&one_number);
//! quintet_tuple_add_formal(one_number, QUINTET_TYPE_INT64);
//! quintet_evals_new(&evals);
//! quintet_evals_add(evals, "square", one_number, square, NULL);
//! quintet_evals_serve(evals, space);                     // until the space is gone
//! ```
//!
//! ```c
//! quintet_space_eval_on_workers(space, "square", seven, QUINTET_FOREVER);   // ("square", 7, 49) comes
//! ```

use crate::boundary::{Tagged, free, give, guarded, handle, limit, misuse, place, tagged, text, value};
use crate::connection::{Connection, unexpected};
use crate::error::quintet_status;
use crate::interrupt::{Argument, needed};
use crate::space::quintet_space;
use crate::tuple::{fields_of, quintet_tuple, received_within, to_put, values_of};
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{Error, Evals, Lease, Outcome, Template, Tuple, Value};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The functions of a worker that makes live tuples. Any threads may use it at once.
pub struct quintet_evals(Tagged<Functions>);
handle!(quintet_evals, Functions, b"evls", "evals");

/// What is behind it. Who serves has a share of them.
#[derive(Default)]
pub struct Functions(Mutex<Arc<Evals>>);

/// A call that a function is to make a tuple of. One thread uses it at a time.
pub struct quintet_eval(Tagged<Asked>);
handle!(quintet_eval, Asked, b"eval", "eval");

/// What is behind it.
pub struct Asked {
    arguments: quintet_tuple,
    /// The tuple, or why there is none. Not set before the function has said it.
    end: OnceLock<Result<Tuple, String>>,
}

/// Makes a live tuple: gives it, or says why there is none. The call is the library's, and good until this returns. It must not throw or jump.
pub type quintet_make = Option<extern "C" fn(eval: Option<&quintet_eval>, argument: *mut c_void)>;

impl Functions {
    fn lock(&self) -> MutexGuard<'_, Arc<Evals>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked {
    /// # Errors
    /// `BadValue` if it has ended before.
    fn end(&self, end: Result<Tuple, String>) -> Result<(), Error> {
        self.end.set(end).map_err(|_| misuse("a tuple was given for this call, or it was failed, before"))
    }
}

/// What a function of C makes of these arguments.
fn made(
    make: extern "C" fn(Option<&quintet_eval>, *mut c_void),
    argument: Argument,
    arguments: Vec<Value>,
) -> Result<Tuple, String> {
    let mut eval: quintet_eval =
        tagged(Asked { arguments: received_within(arguments), end: OnceLock::new() });
    make(Some(&eval), argument.pointer());
    eval.0.value.end.take().unwrap_or_else(|| Err("it returned without a tuple".to_owned()))
}

impl Connection {
    /// The next call that one of these templates matches, leased.
    ///
    /// # Errors
    /// The operation's; `Cancelled` if it was interrupted.
    fn next_call(&self, calls: &[Template]) -> Result<(usize, Lease), Error> {
        match self.finish(self.leasing(|| self.space.begin().select_lease(calls))?)? {
            Outcome::Selected(which, call, granted) => {
                Ok((which, self.space.leased(Outcome::Tuple(call, granted))?))
            }
            other => Err(unexpected(&other)),
        }
    }
}

/// Makes a set of functions, without any so far.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_evals_new(evals: Option<&mut MaybeUninit<*mut quintet_evals>>) -> quintet_status {
    guarded(|| {
        let evals = place(evals, "evals", null_mut())?;
        *evals = give(Functions::default());
        Ok(())
    })
}

/// Adds a function: `make(eval, argument)` is called for calls of this name whose arguments match `arguments`, a template with a field for each, or NULL if it has none. The
/// template may be freed at once. Several functions may have one name, if their arguments differ in number or type; of those that match a call the first makes it.
///
/// Fails with `QUINTET_BAD_VALUE` if `function` or `make` is NULL, for more than 59 arguments, above 16 functions, and while they are served.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_evals_add(
    evals: Option<&quintet_evals>,
    function: *const c_char,
    arguments: Option<&quintet_tuple>,
    make: quintet_make,
    argument: *mut c_void,
) -> quintet_status {
    guarded(|| {
        let mut functions = value(evals)?.lock();
        let (name, arguments) = (text(function, "function")?, fields_of(arguments)?);
        let (make, argument) = (needed(make, "make")?, Argument(argument));
        let functions = Arc::get_mut(&mut functions)
            .ok_or_else(|| misuse("these functions are served: all are added before that"))?;
        functions.add(name, arguments, move |values| made(make, argument, values))
    })
}

/// Makes the live tuples of this space that there are functions for, on this thread, one after the other, the oldest first, until the space is gone or the lab is closed: then it
/// succeeds. A call that a function ends without a tuple fails.
///
/// Fails with `QUINTET_CANCELLED` if the program's interrupt check ended a wait, and a call that was to be acknowledged then is another worker's; `QUINTET_BAD_VALUE` if no function
/// was added; `QUINTET_NOT_ALLOWED` in a cluster's space, for want of the grant `code`; `QUINTET_CLOSED` in a child of fork; `QUINTET_NO_SUCH_SPACE` once a named space was removed; `QUINTET_RESOURCE` if there
/// is no thread to renew leases; `QUINTET_MALFORMED` of a server from before selects.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_evals_serve(
    evals: Option<&quintet_evals>,
    space: Option<&quintet_space>,
) -> quintet_status {
    guarded(|| {
        let functions = Arc::clone(&value(evals)?.lock());
        let connection: &Arc<Connection> = value(space)?;
        functions.serve_with(
            |calls| connection.next_call(calls),
            |call, end| connection.acknowledged(call.begin_acknowledge(&[end])?),
        )?;
        connection.lab.check_process()
    })
}

/// Frees the functions; those who serve them go on. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_evals_free(evals: Option<NonNull<quintet_evals>>) {
    free(evals);
}

/// Lends the arguments of the call, counted from 0, to be read until the function returns. Their types are those that `quintet_evals_add` was told; they are not freed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_eval_arguments(
    eval: Option<&quintet_eval>,
    arguments: Option<&mut MaybeUninit<*const quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let arguments = place(arguments, "arguments", null())?;
        *arguments = &raw const value(eval)?.arguments;
        Ok(())
    })
}

/// Gives the tuple, which is put when the function has returned, at the instant at which the call goes. It stays the program's: it may be changed, put or freed.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no tuple, and then the call may still be given one, or be failed; and if the call was ended before.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_eval_give(
    eval: Option<&quintet_eval>,
    tuple: Option<&quintet_tuple>,
) -> quintet_status {
    guarded(|| value(eval)?.end(Ok(to_put(tuple)?.clone())))
}

/// Fails the call: in the place of its tuple comes `("quintet.failed", function, text)`.
///
/// Fails with `QUINTET_BAD_VALUE` if the call was ended before, and for what is no text.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_eval_fail(eval: Option<&quintet_eval>, text: *const c_char) -> quintet_status {
    guarded(|| value(eval)?.end(Err(crate::boundary::text(text, "text")?.to_owned())))
}

/// Asks workers for the tuple of a function, with these arguments: a tuple of them, which stays the program's, or NULL for none. When this returns the space has the call, and it is
/// done whether or not this process lives. Waits while the space is full.
///
/// Fails with `QUINTET_BAD_VALUE` if `function` is NULL, for a formal or a range among the arguments, and for more than 59; otherwise as `quintet_space_out`. In a cluster's space
/// it fails with `QUINTET_NOT_ALLOWED` for want of the grant `code`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_eval_on_workers(
    space: Option<&quintet_space>,
    function: *const c_char,
    arguments: Option<&quintet_tuple>,
    timeout_ms: i64,
) -> quintet_status {
    guarded(|| {
        let connection = value(space)?;
        let call = Evals::call(text(function, "function")?, values_of(arguments)?)?;
        connection.out(&[call], limit(timeout_ms))
    })
}
