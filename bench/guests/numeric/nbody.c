// Bodies under gravity, a symplectic step of fixed length: the sun and four planets, in plain doubles.
#include "numeric.h"

enum { kBodies = 5, kSteps = 700000 };

typedef struct {
  double x[3], v[3], mass;
} Body;

static const double kPi = 0x1.921fb54442d18p+1;
static const double kDay = 0.01, kYear = 365.24;

// Position, velocity per year and mass in suns; figures as round as they need to be.
static Body bodies[kBodies] = {
    {{0, 0, 0}, {0, 0, 0}, 1},
    {{4.84, -1.16, -0.10}, {0.61, 2.81, -0.02}, 0.000954},
    {{8.34, 4.12, -0.40}, {-1.01, 1.82, 0.008}, 0.000285},
    {{12.89, -15.11, -0.22}, {1.08, 0.868, -0.010}, 0.0000436},
    {{15.37, -25.92, 0.18}, {0.979, 0.594, -0.034}, 0.0000515},
};

static void start(void) {
  double momentum[3] = {0, 0, 0};
  for (int i = 0; i < kBodies; i++) {
    bodies[i].mass *= 4 * kPi * kPi / (kYear * kYear);
    for (int k = 0; k < 3; k++) {
      bodies[i].v[k] /= kYear;
      momentum[k] += bodies[i].v[k] * bodies[i].mass;
    }
  }
  for (int k = 0; k < 3; k++) bodies[0].v[k] = -momentum[k] / bodies[0].mass;
}

static void step(double dt) {
  for (int i = 0; i < kBodies; i++) {
    Body* a = &bodies[i];
    for (int j = i + 1; j < kBodies; j++) {
      Body* b = &bodies[j];
      double dx = a->x[0] - b->x[0], dy = a->x[1] - b->x[1], dz = a->x[2] - b->x[2];
      double square = dx * dx + dy * dy + dz * dz;
      double pull = dt / (square * __builtin_sqrt(square));
      a->v[0] -= dx * b->mass * pull;
      a->v[1] -= dy * b->mass * pull;
      a->v[2] -= dz * b->mass * pull;
      b->v[0] += dx * a->mass * pull;
      b->v[1] += dy * a->mass * pull;
      b->v[2] += dz * a->mass * pull;
    }
  }
  for (int i = 0; i < kBodies; i++) {
    for (int k = 0; k < 3; k++) bodies[i].x[k] += dt * bodies[i].v[k];
  }
}

static double energy(void) {
  double sum = 0;
  for (int i = 0; i < kBodies; i++) {
    const Body* a = &bodies[i];
    sum += 0.5 * a->mass * (a->v[0] * a->v[0] + a->v[1] * a->v[1] + a->v[2] * a->v[2]);
    for (int j = i + 1; j < kBodies; j++) {
      const Body* b = &bodies[j];
      double dx = a->x[0] - b->x[0], dy = a->x[1] - b->x[1], dz = a->x[2] - b->x[2];
      sum -= a->mass * b->mass / __builtin_sqrt(dx * dx + dy * dy + dz * dz);
    }
  }
  return sum;
}

int main(void) {
  uint64_t sum = 0;
  start();
  for (int i = 0; i < kSteps; i++) step(kDay);
  for (int i = 0; i < kBodies; i++) {
    for (int k = 0; k < 3; k++) sum = fold_double(fold_double(sum, bodies[i].x[k]), bodies[i].v[k]);
  }
  return report_numeric("nbody", sum, energy());
}
