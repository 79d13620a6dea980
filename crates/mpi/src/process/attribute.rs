//! Attributes: values that programs attach to objects by keys, with functions that copy and delete them.

use crate::abi::Handle;
use crate::failure::{Done, fail, failure};
use crate::pointer::Address;
use crate::process::Process;
use crate::process::callback;
use hotlink_standard::constants as c;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

/// Which objects a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Comm,
    Type,
    Win,
}

/// A key.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) copy: usize,
    pub(crate) delete: usize,
    pub(crate) extra: Address,
}

/// Of one object: by key, in the order in which they were set. A key lives on here after it was freed.
#[derive(Default)]
pub(crate) struct Attributes(RefCell<BTreeMap<Place, (Rc<Key>, Address)>>);

/// When it was set, and the key's number.
type Place = (u64, c_int);

impl Attributes {
    fn find(&self, key: c_int) -> Option<(Place, Rc<Key>, Address)> {
        let all = self.0.borrow();
        all.iter().find(|(place, _)| place.1 == key).map(|(place, (key, value))| (*place, key.clone(), *value))
    }
    pub(crate) fn get(&self, key: c_int) -> Option<Address> {
        self.find(key).map(|(_, _, value)| value)
    }
    /// Deletes one, if its function agrees.
    pub(crate) fn delete(&self, of: Handle, key: c_int) -> Done {
        let Some((place, about, value)) = self.find(key) else { return Ok(()) };
        let code = callback::delete_attribute(&about, of, key, value);
        if code != c::MPI_SUCCESS {
            return fail(code, "the attribute's delete function failed");
        }
        self.0.borrow_mut().remove(&place);
        Ok(())
    }
    pub(crate) fn set(&self, of: Handle, key: c_int, about: Rc<Key>, value: Address) -> Done {
        self.delete(of, key)?;
        let number = self.0.borrow().last_key_value().map_or(0, |(place, _)| place.0 + 1);
        self.0.borrow_mut().insert((number, key), (about, value));
        Ok(())
    }
    /// Deletes all, the last that was set first.
    pub(crate) fn clear(&self, of: Handle) -> Done {
        let keys: Vec<c_int> = self.0.borrow().keys().rev().map(|place| place.1).collect();
        keys.into_iter().try_for_each(|key| self.delete(of, key))
    }
    /// Those that their functions copy, for a duplicate of the object `of`.
    pub(crate) fn copies(&self, of: Handle) -> Done<Attributes> {
        let all: Vec<_> = self.0.borrow().iter().map(|(place, (key, value))| (*place, key.clone(), *value)).collect();
        let copies = Attributes::default();
        for (place, key, value) in all {
            match callback::copy_attribute(&key, of, place.1, value) {
                Ok(Some(copy)) => drop(copies.0.borrow_mut().insert(place, (key, copy))),
                Ok(None) => {}
                Err(code) => return fail(code, "the attribute's copy function failed"),
            }
        }
        Ok(copies)
    }
}

impl Process {
    /// The key of a number, for objects of a kind.
    pub(crate) fn key(&self, kind: Kind, key: c_int) -> Done<Rc<Key>> {
        let found = usize::try_from(key).ok().and_then(|key| self.keys.get(key)).filter(|found| found.kind == kind);
        found.ok_or_else(|| failure(c::MPI_ERR_KEYVAL, format!("attribute key {key} is none of such an object")))
    }
}
