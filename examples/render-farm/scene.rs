//! The scene: a chess board with pieces of glass and of metal, under a lamp.

use crate::geometry::{Plane, Ray, Sphere, Vec3};

/// How a surface looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Material {
    pub(crate) colour: Vec3,
    /// The part of the light that is reflected as by a mirror.
    pub(crate) mirror: f64,
    /// How much slower light is within, if it is transparent.
    pub(crate) glass: Option<f64>,
}

const GLASS: Material = Material { colour: Vec3(0.94, 0.98, 0.97), mirror: 0.0, glass: Some(1.5) };
const METAL: Material = Material { colour: Vec3(0.55, 0.32, 0.12), mirror: 0.35, glass: None };
const WHITE: Material = Material { colour: Vec3(0.85, 0.82, 0.74), mirror: 0.12, glass: None };
const BLACK: Material = Material { colour: Vec3(0.10, 0.12, 0.16), mirror: 0.12, glass: None };
const TABLE: Material = Material { colour: Vec3(0.33, 0.21, 0.14), mirror: 0.0, glass: None };

/// Half the width of the board, whose squares have a width of 1.
const HALF: f64 = 4.0;

/// Spheres on each other, with a sphere around all of them.
#[derive(Debug)]
struct Piece {
    around: Sphere,
    spheres: Vec<Sphere>,
    material: Material,
}

impl Piece {
    /// A piece on the square in a column and row, of spheres with these radii, from below.
    fn new(column: usize, row: usize, radii: &[f64], material: Material) -> Self {
        let (x, z) = (column as f64 - HALF + 0.5, row as f64 - HALF + 0.5);
        let mut top = 0.0;
        let stack = |radius: &f64| {
            // Each sphere reaches a little into the one below.
            let y = top + 0.8 * radius;
            top = y + 0.8 * radius;
            Sphere { centre: Vec3(x, y, z), radius: *radius }
        };
        let spheres: Vec<_> = radii.iter().map(stack).collect();
        let centre = Vec3(x, top / 2.0, z);
        let reach = |s: &Sphere| (s.centre.1 - centre.1).abs() + s.radius;
        let radius = spheres.iter().map(reach).fold(0.0, f64::max);
        Self { around: Sphere { centre, radius }, spheres, material }
    }
}

/// The lamp: a sphere that shines as from points of its surface.
pub(crate) const LAMP: Sphere = Sphere { centre: Vec3(-5.0, 9.0, -4.0), radius: 1.2 };

/// What a ray meets first.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) at: Vec3,
    /// Outwards, whatever side the ray comes from.
    pub(crate) normal: Vec3,
    pub(crate) material: Material,
}

#[derive(Debug)]
pub(crate) struct Scene {
    pieces: Vec<Piece>,
    floor: Plane,
}

impl Scene {
    pub(crate) fn chess() -> Self {
        const PAWN: &[f64] = &[0.3, 0.2, 0.16];
        const OFFICERS: [&[f64]; 8] = [
            &[0.36, 0.3, 0.3],
            &[0.34, 0.26, 0.2],
            &[0.34, 0.24, 0.2, 0.12],
            &[0.38, 0.3, 0.24, 0.18, 0.08],
            &[0.38, 0.32, 0.26, 0.2, 0.12],
            &[0.34, 0.24, 0.2, 0.12],
            &[0.34, 0.26, 0.2],
            &[0.36, 0.3, 0.3],
        ];
        // After some moves: squares of pawns, by column.
        let pawns = [[1, 1, 1, 3, 3, 1, 1, 1], [6, 6, 5, 4, 6, 6, 5, 6]];
        let sides = [(0, GLASS), (7, METAL)];
        let mut pieces = Vec::new();
        for ((first, material), rows) in sides.into_iter().zip(pawns) {
            for column in 0..8 {
                pieces.push(Piece::new(column, first, OFFICERS[column], material));
                pieces.push(Piece::new(column, rows[column], PAWN, material));
            }
        }
        let floor = Plane { normal: Vec3(0.0, 1.0, 0.0), offset: 0.0 };
        Self { pieces, floor }
    }

    /// What a ray meets first.
    pub(crate) fn meet(&self, ray: &Ray) -> Option<Hit> {
        let mut nearest = f64::INFINITY;
        let mut found = None;
        for piece in self.pieces.iter().filter(|p| p.around.is_met(ray)) {
            for sphere in &piece.spheres {
                if let Some(distance) = sphere.meets(ray).filter(|d| *d < nearest) {
                    nearest = distance;
                    found = Some((sphere, piece.material));
                }
            }
        }
        if let Some(distance) = self.floor.meets(ray).filter(|d| *d < nearest) {
            let at = ray.at(distance);
            let (normal, material) = (self.floor.normal, floor_at(at));
            return Some(Hit { at, normal, material });
        }
        let (sphere, material) = found?;
        let at = ray.at(nearest);
        let normal = sphere.normal(at);
        Some(Hit { at, normal, material })
    }

    /// The part of light that comes along a ray of this length: glass lets most of it through.
    pub(crate) fn light_along(&self, ray: &Ray, length: f64) -> f64 {
        const THROUGH_GLASS: f64 = 0.75;

        let mut light = 1.0;
        for piece in self.pieces.iter().filter(|p| p.around.is_met(ray)) {
            let within = |s: &&Sphere| s.meets(ray).is_some_and(|distance| distance < length);
            match piece.material.glass {
                Some(_) => {
                    let n = piece.spheres.iter().filter(within).count();
                    light *= THROUGH_GLASS.powi(n as i32);
                }
                None if piece.spheres.iter().any(|s| within(&s)) => return 0.0,
                None => {}
            }
        }
        light
    }

    /// The light of the sky.
    pub(crate) fn sky(direction: Vec3) -> Vec3 {
        let height = direction.1.clamp(0.0, 1.0);
        Vec3(0.75, 0.80, 0.88) * (1.0 - height) + Vec3(0.25, 0.42, 0.70) * height
    }
}

/// The floor is the board, and the table around it.
fn floor_at(at: Vec3) -> Material {
    if at.0.abs() > HALF || at.2.abs() > HALF {
        return TABLE;
    }
    let square = (at.0 + HALF).floor() as i64 + (at.2 + HALF).floor() as i64;
    if square % 2 == 0 { BLACK } else { WHITE }
}
