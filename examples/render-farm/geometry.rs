//! Vectors, rays, and what rays meet.

use std::ops::{Add, Mul, Neg, Sub};

/// A point, a direction or a colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Vec3(pub(crate) f64, pub(crate) f64, pub(crate) f64);

impl Vec3 {
    pub(crate) const ZERO: Self = Self(0.0, 0.0, 0.0);

    pub(crate) fn dot(self, other: Self) -> f64 {
        self.0 * other.0 + self.1 * other.1 + self.2 * other.2
    }

    pub(crate) fn cross(self, other: Self) -> Self {
        Self(
            self.1 * other.2 - self.2 * other.1,
            self.2 * other.0 - self.0 * other.2,
            self.0 * other.1 - self.1 * other.0,
        )
    }

    pub(crate) fn unit(self) -> Self {
        self * (1.0 / self.dot(self).sqrt())
    }

    /// Each component times that of `other`, as light through a coloured thing.
    pub(crate) fn tinted(self, other: Self) -> Self {
        Self(self.0 * other.0, self.1 * other.1, self.2 * other.2)
    }

    pub(crate) fn reflected(self, normal: Self) -> Self {
        self - normal * (2.0 * self.dot(normal))
    }

    /// The direction behind a surface where light is `ratio` times as fast; none if all light is reflected.
    pub(crate) fn refracted(self, normal: Self, ratio: f64) -> Option<Self> {
        let cosine = -self.dot(normal);
        let square = 1.0 - ratio * ratio * (1.0 - cosine * cosine);
        (square >= 0.0).then(|| self * ratio + normal * (ratio * cosine - square.sqrt()))
    }
}

impl Add for Vec3 {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1, self.2 + other.2)
    }
}

impl Sub for Vec3 {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Neg for Vec3 {
    type Output = Self;
    fn neg(self) -> Self {
        self * -1.0
    }
}

impl Mul<f64> for Vec3 {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0 * factor, self.1 * factor, self.2 * factor)
    }
}

/// A half-line; the direction is a unit vector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ray {
    pub(crate) origin: Vec3,
    pub(crate) direction: Vec3,
}

impl Ray {
    pub(crate) fn at(&self, distance: f64) -> Vec3 {
        self.origin + self.direction * distance
    }
}

/// Rays begin as far from the surface that they leave: rounding must not put them behind it.
const NEAREST: f64 = 1e-6;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sphere {
    pub(crate) centre: Vec3,
    pub(crate) radius: f64,
}

impl Sphere {
    /// The distance at which a ray meets the surface first, from without or within.
    pub(crate) fn meets(&self, ray: &Ray) -> Option<f64> {
        let to_centre = self.centre - ray.origin;
        let along = to_centre.dot(ray.direction);
        let square = self.radius * self.radius - to_centre.dot(to_centre) + along * along;
        if square < 0.0 {
            return None;
        }
        let half = square.sqrt();
        [along - half, along + half].into_iter().find(|distance| *distance > NEAREST)
    }

    /// Whether a ray comes through the sphere, which is cheaper to tell than where.
    pub(crate) fn is_met(&self, ray: &Ray) -> bool {
        let to_centre = self.centre - ray.origin;
        let (square, along) = (to_centre.dot(to_centre), to_centre.dot(ray.direction));
        let within = self.radius * self.radius;
        square < within || along > 0.0 && square - along * along < within
    }

    pub(crate) fn normal(&self, at: Vec3) -> Vec3 {
        (at - self.centre) * (1.0 / self.radius)
    }
}

/// The points `p` with `p · normal = offset`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane {
    pub(crate) normal: Vec3,
    pub(crate) offset: f64,
}

impl Plane {
    pub(crate) fn meets(&self, ray: &Ray) -> Option<f64> {
        let speed = ray.direction.dot(self.normal);
        let distance = (self.offset - ray.origin.dot(self.normal)) / speed;
        (distance.is_finite() && distance > NEAREST).then_some(distance)
    }
}
