//! The rules of `eval`: which functions other processes can be asked to call.

use crate::field::{Call, Field};
use crate::operation::{self, Misuse, Verb};
use crate::scope::{Scopes, Symbol};
use crate::types::{Scalar, Signature, Type};

/// Checks the calls of an eval, and completes what they take and return.
pub(crate) fn check(
    scopes: &Scopes,
    call: &operation::Call,
    fields: &mut [Field],
    text: &str,
) -> Result<(), Misuse> {
    if call.verb != Verb::Eval {
        return Ok(());
    }
    let is_call = |field: &Field| matches!(field, Field::Call(_));
    if !fields.iter().any(is_call) {
        return Err(Misuse {
            at: call.range.start,
            message: "`eval` without a call: there is nothing that a process would do".to_owned(),
            hint: "call a function in it, as in eval(worker(1)); a tuple of values is put with out",
        });
    }
    for (field, written) in fields.iter_mut().zip(&call.fields) {
        if let Field::Call(found) = field {
            complete(scopes, found, &text[written.value.clone()]).map_err(|(message, hint)| Misuse {
                at: written.value.start,
                message,
                hint,
            })?;
        }
    }
    Ok(())
}

fn complete(scopes: &Scopes, call: &mut Call, words: &str) -> Result<(), (String, &'static str)> {
    let name = &call.function;
    let signature = signature(scopes, name).ok_or_else(|| {
        let message = format!("`{name}` is no function that is declared in this file: `{words}`");
        (message, "declare it, with what it takes: int worker(int number);")
    })?;
    call.result = signature.result.scalar().ok_or_else(|| {
        let message = format!("`{name}` returns no scalar: what it returns becomes the field");
        (message, "let it return int, and put other results with out")
    })?;
    let Some(parameters) = &signature.parameters else {
        // Then C passes what there is.
        call.arguments.iter_mut().for_each(|argument| *argument = passed(*argument));
        return Ok(());
    };
    if parameters.len() != call.arguments.len() {
        let message =
            format!("`{name}` takes {} arguments, and is given {}", parameters.len(), call.arguments.len());
        return Err((message, "give it as many as it takes"));
    }
    for (argument, parameter) in call.arguments.iter_mut().zip(parameters) {
        *argument = parameter.scalar().ok_or_else(|| {
            let message = format!("`{name}` takes what is no scalar: an eval passes numbers only");
            (message, "put it into a tuple that the function takes")
        })?;
    }
    Ok(())
}

fn signature<'a>(scopes: &'a Scopes, name: &str) -> Option<&'a Signature> {
    match scopes.find(name) {
        Some(Symbol::Object(Type::Function(signature))) => Some(signature),
        _ => None,
    }
}

/// As which type an argument is passed to a function whose parameters are not known (C17, 6.5.2.2).
fn passed(argument: Scalar) -> Scalar {
    if argument == Scalar::Float { Scalar::Double } else { argument.promoted() }
}
