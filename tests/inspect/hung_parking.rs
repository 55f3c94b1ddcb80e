//! Hangs of parking_lot's locks, as hung.h has them.

use parking_lot::{Condvar, Mutex, RwLock};
use std::env;
use std::io::Write;
use std::sync::{Arc, Barrier};
use std::thread;

static A: Mutex<u32> = parking_lot::const_mutex(0);
static B: Mutex<u32> = parking_lot::const_mutex(0);
static FIRST: RwLock<u32> = parking_lot::const_rwlock(0);
static SECOND: RwLock<u32> = parking_lot::const_rwlock(0);

fn ready() {
    println!("ready");
    let _ = std::io::stdout().flush();
}

/// Runs one in a thread, the other itself: there is nobody else.
fn run_two(one: impl FnOnce(&Barrier) + Send + 'static, two: impl FnOnce(&Barrier)) {
    let meeting = Arc::new(Barrier::new(2));
    let other = meeting.clone();
    let _first = thread::spawn(move || one(&other));
    two(&meeting);
}

fn nest(outer: &Mutex<u32>, inner: &Mutex<u32>, meeting: &Barrier) {
    let mut has = outer.lock();
    meeting.wait();
    let wants = inner.lock();
    *has += *wants;
}

fn mutex() {
    run_two(|meeting| nest(&A, &B, meeting), |meeting| nest(&B, &A, meeting));
}

/// One thread, one lock, twice.
fn mutex_twice() {
    let _has = A.lock();
    let _wants = A.lock();
}

fn rwlock() {
    let cross = |has: &RwLock<u32>, wants: &RwLock<u32>, meeting: &Barrier| {
        let mut has = has.write();
        meeting.wait();
        *has += *wants.read();
    };
    run_two(
        move |meeting| cross(&FIRST, &SECOND, meeting),
        move |meeting| cross(&SECOND, &FIRST, meeting),
    );
}

/// One of parking_lot, one of the standard library.
fn mixed() {
    static OTHER: std::sync::Mutex<u32> = std::sync::Mutex::new(0);
    run_two(
        |meeting| {
            let mut has = A.lock();
            meeting.wait();
            *has += *OTHER.lock().unwrap();
        },
        |meeting| {
            let mut has = OTHER.lock().unwrap();
            meeting.wait();
            *has += *A.lock();
        },
    );
}

/// Nobody is left to tell.
fn condition() {
    let told = Condvar::new();
    let mut has = A.lock();
    while *has == 0 {
        told.wait(&mut has);
    }
}

/// Contended, in one order.
fn busy() {
    for _ in 0..4 {
        thread::spawn(|| loop {
            let mut first = A.lock();
            let mut second = B.lock();
            *first = first.wrapping_add(1);
            *second = second.wrapping_add(1);
        });
    }
    ready();
    loop {
        thread::park_timeout(std::time::Duration::from_secs(1000));
    }
}

type Case = (&'static str, &'static str, &'static str, u32, fn());

const CASES: &[Case] = &[
    ("mutex", "proved", "likely", 2, mutex),
    ("mutex-twice", "proved", "likely", 1, mutex_twice),
    ("rwlock", "proved", "likely", 2, rwlock),
    ("mixed", "proved", "likely", 2, mixed),
    ("condition", "proved", "likely", 1, condition),
    ("busy", "nothing", "nothing", 0, busy),
];

fn main() {
    let asked = env::args().nth(1).unwrap_or_default();
    for (name, live, core, members, run) in CASES {
        if asked == "--list" {
            println!("{name} {live} {core} deadlock {members}");
        } else if asked == *name {
            run();
        }
    }
}
