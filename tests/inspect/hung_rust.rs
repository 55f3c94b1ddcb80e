//! Hangs of Rust's standard library, as hung.h has them.

use std::env;
use std::io::Write;
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;

static A: Mutex<u32> = Mutex::new(0);
static B: Mutex<u32> = Mutex::new(0);

fn ready() {
    println!("ready");
    let _ = std::io::stdout().flush();
}

/// Runs one in a thread, the other itself: there is nobody else.
fn run_two(one: impl FnOnce() + Send + 'static, two: impl FnOnce()) {
    let _first = thread::spawn(one);
    two();
}

fn nest(outer: &Mutex<u32>, inner: &Mutex<u32>, meeting: &Barrier) {
    let mut has = outer.lock().unwrap();
    meeting.wait();
    let wants = inner.lock().unwrap();
    *has += *wants;
}

fn mutex_static() {
    let meeting = Arc::new(Barrier::new(2));
    let other = meeting.clone();
    run_two(move || nest(&A, &B, &meeting), move || nest(&B, &A, &other));
}

fn mutex_arc() {
    let locks = Arc::new((Mutex::new(1), Mutex::new(2), Barrier::new(2)));
    let others = locks.clone();
    run_two(
        move || nest(&locks.0, &locks.1, &locks.2),
        move || nest(&others.1, &others.0, &others.2),
    );
}

/// One thread, one lock, twice.
fn mutex_twice() {
    let _has = A.lock().unwrap();
    let _wants = A.lock().unwrap();
}

fn join_under_mutex() {
    let _has = A.lock().unwrap();
    let thread = thread::spawn(|| {
        let _wants = A.lock().unwrap();
    });
    let _ = thread.join();
}

fn rwlock() {
    static FIRST: RwLock<u32> = RwLock::new(0);
    static SECOND: RwLock<u32> = RwLock::new(0);
    let meeting = Arc::new(Barrier::new(2));
    let other = meeting.clone();
    run_two(
        move || {
            let mut has = FIRST.write().unwrap();
            meeting.wait();
            *has += *SECOND.read().unwrap();
        },
        move || {
            let mut has = SECOND.write().unwrap();
            other.wait();
            *has += *FIRST.read().unwrap();
        },
    );
}

/// A process of one thread, which no other could wake: it may park there.
fn parked() {
    ready();
    wait_for_ever();
}

/// Nobody is left to tell.
fn condition() {
    thread::spawn(wait_for_ever).join().unwrap();
}

fn wait_for_ever() {
    let pair = Mutex::new(false);
    let told = Condvar::new();
    let mut has = pair.lock().unwrap();
    while !*has {
        has = told.wait(has).unwrap();
    }
}

/// The initialiser waits for what a thread has that waits for the initialiser.
fn once() {
    static ONCE: Once = Once::new();
    let meeting = Arc::new(Barrier::new(2));
    let other = meeting.clone();
    run_two(
        move || {
            ONCE.call_once(|| {
                meeting.wait();
                let _wants = A.lock().unwrap();
            })
        },
        move || {
            let _has = A.lock().unwrap();
            other.wait();
            ONCE.call_once(|| ());
        },
    );
}

/// Contended, in one order.
fn busy() {
    for _ in 0..4 {
        thread::spawn(|| loop {
            let mut first = A.lock().unwrap();
            let mut second = B.lock().unwrap();
            *first = first.wrapping_add(1);
            *second = second.wrapping_add(1);
        });
    }
    ready();
    loop {
        thread::park_timeout(std::time::Duration::from_secs(1000));
    }
}

/// Someone has it for a long time, but not for ever.
fn slow() {
    thread::spawn(|| {
        let _has = A.lock().unwrap();
        ready();
        thread::sleep(std::time::Duration::from_secs(100_000));
    });
    while A.try_lock().is_ok() {
        thread::yield_now();
    }
    let _wants = A.lock().unwrap();
}

type Case = (&'static str, &'static str, &'static str, u32, fn());

const CASES: &[Case] = &[
    ("mutex-static", "proved", "proved", 2, mutex_static),
    ("mutex-arc", "proved", "proved", 2, mutex_arc),
    ("mutex-twice", "proved", "proved", 1, mutex_twice),
    ("join-under-mutex", "proved", "proved", 2, join_under_mutex),
    ("rwlock", "proved", "proved", 2, rwlock),
    ("condition", "proved", "likely", 2, condition),
    ("parked", "nothing", "nothing", 0, parked),
    ("once", "proved", "proved", 2, once),
    ("busy", "nothing", "nothing", 0, busy),
    ("slow", "nothing", "nothing", 0, slow),
];

fn main() {
    let asked = env::args().nth(1).unwrap_or_default();
    for (name, live, core, members, run) in CASES {
        if asked == "--list" {
            let kind = if *name == "condition" { "never-signalled" } else { "deadlock" };
            println!("{name} {live} {core} {kind} {members}");
        } else if asked == *name {
            run();
        }
    }
}
