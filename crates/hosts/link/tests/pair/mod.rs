//! The two ends of a link over shared memory, both in this process.

use quintet_link::{End, SharedMemoryListener, shared_memory_connect};
use quintet_testbed::TempDir;
use rustix::event::{PollFd, PollFlags, poll};
use std::thread;

pub(crate) fn accept(listener: &mut SharedMemoryListener) -> End {
    loop {
        poll(&mut [PollFd::new(&*listener, PollFlags::IN)], None).expect("poll");
        if let Some(end) = listener.accept().expect("accepted") {
            return end;
        }
    }
}

pub(crate) fn pair() -> (End, End) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.join("socket");
    let mut listener = SharedMemoryListener::bind(&path).expect("bound");
    let connecting = thread::spawn(move || shared_memory_connect(path).expect("connected"));
    (accept(&mut listener), connecting.join().expect("it does not panic"))
}
