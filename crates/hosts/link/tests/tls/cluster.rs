//! Clusters, and listeners in them.

use quintet_identity::{Authority, DAY, Validity};
use quintet_link::{
    BootstrapError, Credentials, End, LinkAddress, ListenLimits, Listener, StreamListener, TlsFault, connect,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// Long enough for a loaded machine: a test that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn authority() -> Authority {
    Authority::new().expect("randomness")
}

/// The identity of a machine, valid now.
pub(crate) fn identity(authority: &Authority) -> String {
    authority.issue("a", Validity::days(1)).expect("a good name")
}

/// One that was valid until yesterday.
pub(crate) fn expired(authority: &Authority) -> String {
    let now = SystemTime::now();
    authority.issue("a", Validity { from: now - DAY * 90, until: now - DAY }).expect("a good name")
}

pub(crate) fn credentials(identity: &str) -> Credentials {
    Credentials::from_pem(identity.as_bytes()).expect("valid now")
}

pub(crate) fn at(port: u16, credentials: Option<Credentials>) -> LinkAddress {
    LinkAddress::Tls { host: "127.0.0.1".to_owned(), port, credentials }
}

/// A listener of that cluster, and its port.
pub(crate) fn listener(authority: &Authority, limits: ListenLimits) -> (StreamListener, u16) {
    listening(credentials(&identity(authority)), limits)
}

/// A listener that shows these, and its port.
pub(crate) fn listening(shown: Credentials, limits: ListenLimits) -> (StreamListener, u16) {
    let listener = StreamListener::bind(&at(0, Some(shown)), limits).expect("a free port");
    let LinkAddress::Tls { port, .. } = listener.address() else { panic!("it listens over TLS") };
    (listener, port)
}

pub(crate) fn accept(listener: &mut dyn Listener) -> Result<End, BootstrapError> {
    loop {
        let limit = Timespec::try_from(PATIENCE).expect("short");
        let mut fds = [PollFd::from_borrowed_fd(listener.fd(), PollFlags::IN)];
        assert_eq!(poll(&mut fds, Some(&limit)), Ok(1), "nothing came");
        if let Some(end) = listener.accept()? {
            return Ok(end);
        }
    }
}

pub(crate) fn refusal(listener: &mut dyn Listener) -> BootstrapError {
    accept(listener).map(|_| ()).expect_err("it is refused")
}

pub(crate) fn connecting(address: LinkAddress) -> JoinHandle<Result<End, BootstrapError>> {
    thread::spawn(move || connect(&address, PATIENCE))
}

pub(crate) fn fault(error: BootstrapError) -> TlsFault {
    match error {
        BootstrapError::Tls { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

/// Who dials is refused: what the listener says of it, and what it says itself.
pub(crate) fn both_refusals(listener: &mut dyn Listener, address: LinkAddress) -> (TlsFault, TlsFault) {
    let refused = connecting(address);
    let seen = fault(refusal(listener));
    let told = refused.join().expect("it does not panic").map(|_| ()).expect_err("it is refused");
    (seen, fault(told))
}

/// Somebody of the cluster gets through.
pub(crate) fn serves(listener: &mut dyn Listener) {
    let connecting = connecting(listener.address());
    loop {
        match accept(listener) {
            Ok(_) => break,
            Err(error) => assert!(matches!(error, BootstrapError::Left { .. }), "{error}"),
        }
    }
    connecting.join().expect("it does not panic").expect("it is let in");
}

/// Two ends in one cluster: who listened, who dialled.
pub(crate) fn pair() -> (End, End) {
    let authority = authority();
    let (mut listener, _) = listener(&authority, ListenLimits::default());
    let near = connecting(listener.address());
    let far = accept(&mut listener).expect("it is let in");
    (far, near.join().expect("it does not panic").expect("it is let in"))
}
