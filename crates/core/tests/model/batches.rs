//! Batches of contexts, which their threads fill and others hand over.

use std::convert::Infallible;

use ferroshmem_fabric::batches::{Batch, Batches, Lock, Primitives, Registry, Word};
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::common::{beside, model};

struct Model;

impl Primitives for Model {
    type Word = ModelWord;
    type Lock<T> = ModelLock<T>;

    fn fence() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

struct ModelWord(AtomicU32);

impl Default for ModelWord {
    fn default() -> Self {
        Self(AtomicU32::new(0))
    }
}

impl Word for ModelWord {
    fn load(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    fn store(&self, value: u32) {
        self.0.store(value, Ordering::Release);
    }
}

struct ModelLock<T>(Mutex<T>);

impl<T> From<T> for ModelLock<T> {
    fn from(value: T) -> Self {
        Self(Mutex::new(value))
    }
}

impl<T> Lock<T> for ModelLock<T> {
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock().unwrap())
    }

    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut value = self.0.try_lock().ok()?;
        Some(f(&mut value))
    }
}

/// Numbers in the order in which they were gathered.
#[derive(Default)]
struct Items(Vec<u32>);

impl Batch for Items {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

type Context = Arc<Batches<Model, Items>>;

/// The contexts of a PE, and what they have handed over.
struct Pe {
    registry: Registry<Model, Context>,
    messages: Mutex<Vec<u32>>,
}

const TARGET: usize = 0;

impl Pe {
    fn new() -> Arc<Self> {
        Arc::new(Self { registry: Registry::default(), messages: Mutex::new(Vec::new()) })
    }

    /// A context, at its first item.
    fn context(&self) -> Context {
        let context = Arc::new(Batches::new(1));
        self.registry.register(context.clone(), |_| false);
        context
    }

    fn hand_over(&self, items: &mut Items) {
        self.messages.lock().unwrap().append(&mut items.0);
    }

    fn hand_over_filled(&self, context: &Context) -> Result<(), Infallible> {
        context.hand_over_filled(|_, items| {
            self.hand_over(items);
            Ok(true)
        })
    }

    /// What a thread does that idles.
    fn hand_over_all(&self) {
        let Ok(()) = self.registry.each(|context| self.hand_over_filled(context));
    }

    /// What the progress thread does until it sleeps for long.
    fn until_rest(&self) {
        loop {
            self.hand_over_all();
            if self.registry.may_rest(|| false, |context| context.has_filled()) {
                return;
            }
            thread::yield_now();
        }
    }

    /// A thread gathers an item. It knows that items come fast since a lull: then it leaves them to others.
    fn gather(&self, context: &Context, item: u32, stream: u32) {
        context.with(TARGET, |items| items.0.push(item));
        if self.registry.idle_period_after_listing() != stream {
            context.with_filled(TARGET, |items| self.hand_over(items));
        }
    }

    fn messages(&self) -> Vec<u32> {
        self.messages.lock().unwrap().clone()
    }
}

/// The progress thread does not sleep beside what a thread has gathered meanwhile, in the first batch of a context or a
/// later one, unless that thread hands it over itself.
#[test]
fn nothing_is_left_when_the_progress_thread_rests() {
    model(3, || {
        let pe = Pe::new();
        let stream = pe.registry.idle_period();
        let gatherer = beside(&pe, move |pe| {
            let context = pe.context();
            for item in 1..=2 {
                pe.gather(&context, item, stream);
            }
        });
        pe.until_rest();
        gatherer.join().unwrap();
        assert_eq!(pe.messages(), [1, 2]);
    });
}

/// Items arrive once and in order, whichever threads hand them over; and what a thread does after it has handed a batch
/// over comes behind all of it.
#[test]
fn what_is_handed_over_keeps_its_order() {
    model(3, || {
        let pe = Pe::new();
        let context = pe.context();
        let idles = beside(&pe, Pe::hand_over_all);
        let completes = {
            let (pe, context) = (pe.clone(), context.clone());
            thread::spawn(move || pe.hand_over_filled(&context))
        };
        for item in 1..=2 {
            context.with(TARGET, |items| items.0.push(item));
        }
        // As before a request with a result.
        context.with_filled(TARGET, |items| pe.hand_over(items));
        pe.messages.lock().unwrap().push(3);
        idles.join().unwrap();
        let Ok(()) = completes.join().unwrap();
        assert_eq!(pe.messages(), [1, 2, 3]);
    });
}

/// A thread that completes the operations of all contexts finds what each has gathered before, though others hand over,
/// find no room and list it again, or register contexts meanwhile.
#[test]
fn who_completes_all_contexts_finds_each() {
    model(2, || {
        let pe = Pe::new();
        let context = pe.context();
        context.with(TARGET, |items| items.0.push(1));
        let finds_no_room = {
            let (pe, context) = (pe.clone(), context.clone());
            thread::spawn(move || {
                let Ok(()) = context.hand_over_filled(|_, _| Ok::<_, Infallible>(false));
                let later = pe.context();
                later.with(TARGET, |items| items.0.push(2));
            })
        };
        // As quiet: until they are complete.
        while !pe.messages().contains(&1) {
            pe.hand_over_all();
            thread::yield_now();
        }
        finds_no_room.join().unwrap();
        pe.hand_over_all();
        assert_eq!(pe.messages(), [1, 2]);
    });
}
