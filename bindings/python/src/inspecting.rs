//! Who waits in a space, who is connected to it, and how its partitions are used. The classes stand in `quintet/inspecting.py`.

use crate::connection::in_a_thread;
use crate::listing::shown;
use crate::words::in_python;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use quintet::{
    Awaited, ClientState, Code, Error, Glimpse, HotKey, LinkClass, Operation, Partition, Replica,
    ReplicaRole, Subject, TemplateShape, WaitingRequest,
};
use std::time::Duration;

/// What a page shows, as Python names it.
///
/// # Errors
/// `BadValue`: it is none.
pub(crate) fn subject(name: &str) -> Result<Subject, Error> {
    Ok(match name {
        "tuples" => Subject::Tuples,
        "waiting" => Subject::Waiting,
        "clients" => Subject::Clients,
        "partitions" => Subject::Partitions,
        "hot keys" => Subject::HotKeys,
        other => {
            let text = format!(
                "a page shows tuples, waiting, clients, partitions or hot keys, and nothing named {other:?}"
            );
            return Err(Error::new(Code::BadValue, text));
        }
    })
}

/// A `quintet.WaitingRequest`.
///
/// # Errors
/// No memory.
pub(crate) fn from_waiting<'py>(py: Python<'py>, request: WaitingRequest) -> PyResult<Bound<'py, PyAny>> {
    let operation = match request.operation {
        Operation::Read => "read",
        Operation::Take => "take",
        Operation::Lease => "lease",
        Operation::Count => "count",
        Operation::Out => "out",
        Operation::Acknowledge => "acknowledge",
    };
    let awaited = match request.awaited {
        Awaited::Tuple => "tuple",
        Awaited::Link => "link",
        Awaited::Turn => "turn",
        Awaited::Room => "room",
    };
    let named = PyDict::new(py);
    named.set_item("client", request.client.to_string())?;
    named.set_item("age", request.age)?;
    named.set_item("operation", operation)?;
    named.set_item("awaited", awaited)?;
    named.set_item("waited", seconds(request.waited))?;
    named.set_item("ends_in", request.ends_in.map(seconds))?;
    named.set_item("puts", request.puts)?;
    named.set_item("hidden", request.hidden)?;
    named.set_item("template", request.template.map(|template| fields(py, template)).transpose()?)?;
    class(py, "WaitingRequest")?.call((), Some(&named))
}

/// A `quintet.Client`.
///
/// # Errors
/// No memory.
pub(crate) fn from_client<'py>(py: Python<'py>, client: &ClientState) -> PyResult<Bound<'py, PyAny>> {
    let reach = match client.reach {
        LinkClass::Process => "process",
        LinkClass::Machine => "machine",
        LinkClass::Network => "network",
    };
    let named = PyDict::new(py);
    named.set_item("client", client.client.to_string())?;
    named.set_item("reach", reach)?;
    named.set_item("identity", client.identity.map(|identity| PyBytes::new(py, &identity.0)))?;
    named.set_item("connected", seconds(client.connected))?;
    named.set_item("waiting", client.waiting)?;
    named.set_item("leases", client.leases)?;
    named.set_item("acknowledged", client.acknowledged)?;
    named.set_item("given_up", client.given_up)?;
    named.set_item("held", seconds(client.held))?;
    class(py, "Client")?.call((), Some(&named))
}

/// A `quintet.Partition`.
///
/// # Errors
/// No memory.
pub(crate) fn from_partition<'py>(py: Python<'py>, partition: &Partition) -> PyResult<Bound<'py, PyAny>> {
    let shapes = partition.shapes.iter().map(|TemplateShape { actuals, asked }| {
        let fields: Vec<u32> = (0..u64::BITS).filter(|field| actuals >> field & 1 == 1).collect();
        PyTuple::new(py, fields).map(|fields| (fields, *asked))
    });
    let shapes = PyTuple::new(py, shapes.collect::<PyResult<Vec<_>>>()?)?;
    let named = PyDict::new(py);
    named.set_item("signature", in_python(&partition.signature.to_string()))?;
    named.set_item("name", partition.name.as_deref())?;
    for (name, number) in [
        ("tuples", partition.tuples),
        ("bytes", partition.bytes),
        ("put", partition.put),
        ("taken", partition.taken),
        ("read", partition.read),
        ("asked", partition.asked),
        ("other_shapes", partition.other_shapes),
    ] {
        named.set_item(name, number)?;
    }
    for (name, since) in [
        ("filled", partition.filled),
        ("since_put", partition.since_put),
        ("since_delivery", partition.since_delivery),
        ("since_asked", partition.since_asked),
    ] {
        named.set_item(name, since.map(seconds))?;
    }
    named.set_item("shapes", shapes)?;
    class(py, "Partition")?.call((), Some(&named))
}

/// All clients of a space, all its partitions, or all its hot keys: those of several managers together.
///
/// # Errors
/// The space is gone; a signal's exception.
pub(crate) fn usage<'py>(
    py: Python<'py>,
    space: &quintet::Space,
    subject: &str,
) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    match subject {
        "clients" => {
            let listing = space.clients();
            let all: Vec<ClientState> = in_a_thread(py, "clients", move || listing.collect())?;
            all.iter().try_for_each(|row| rows.append(from_client(py, row)?))?;
        }
        "partitions" => {
            let listing = space.partitions();
            let all: Vec<Partition> = in_a_thread(py, "partitions", move || listing.collect())?;
            all.iter().try_for_each(|row| rows.append(from_partition(py, row)?))?;
        }
        _ => {
            let listing = space.hot_keys();
            let all: Vec<HotKey> = in_a_thread(py, "hot keys", move || listing.collect())?;
            all.into_iter().try_for_each(|row| rows.append(from_hot_key(py, row)?))?;
        }
    }
    Ok(rows)
}

/// A `quintet.HotKey`.
///
/// # Errors
/// No memory.
pub(crate) fn from_hot_key<'py>(py: Python<'py>, key: HotKey) -> PyResult<Bound<'py, PyAny>> {
    class(py, "HotKey")?.call1((fields(py, key.fields)?, key.asked, key.error))
}

/// A `quintet.Replica`.
///
/// # Errors
/// No memory.
pub(crate) fn from_replica<'py>(py: Python<'py>, replica: Replica) -> PyResult<Bound<'py, PyAny>> {
    let (role, leader, error) = match replica.role {
        Ok(ReplicaRole::Leads) => (Some("leads"), Some(replica.number), None),
        Ok(ReplicaRole::Follows(leader)) => (Some("follows"), Some(leader), None),
        Ok(ReplicaRole::KnowsNoLeader) => (Some("knows no leader"), None, None),
        Ok(ReplicaRole::HasNoLog) => (Some("has no log"), None, None),
        Err(error) => (None, None, Some(crate::error::raise(error).into_value(py))),
    };
    class(py, "Replica")?.call1((replica.number, replica.address.to_string(), role, leader, error))
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("quintet.inspecting")?.getattr(name)
}

fn fields(py: Python<'_>, fields: Vec<Glimpse>) -> PyResult<Bound<'_, PyTuple>> {
    let types = py.import("quintet.listing")?;
    let fields: Vec<_> = fields.into_iter().map(|field| shown(&types, field)).collect::<PyResult<_>>()?;
    PyTuple::new(py, fields)
}

fn seconds(span: impl Into<Duration>) -> f64 {
    span.into().as_secs_f64()
}
