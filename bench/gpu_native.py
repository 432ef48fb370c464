"""bench/gpu.py's part `native`: the integer set compiled for one GPU thread, against one lane.

The programs are PTX (bench/Makefile, target native-gpu): the guests' own sources and a small C library,
bench/native_gpu. NVIDIA's driver is called through ctypes, so this needs Python and a GPU alone.
"""

import ctypes
import statistics

from run import INTEGER

# One block on the GPU: a Run, the arguments, what is printed, and memory for malloc, of which json takes 23 MiB.
ARGUMENTS_AT, TEXT_AT, MEMORY_AT = 256, 1024, 4096
TEXT, MEMORY = MEMORY_AT - TEXT_AT, 64 << 20
STACK = 8192  # of a thread; the driver reserves it for as many threads as the GPU can hold
MOST_RUNS, MOST_SECONDS = 3, 10.0  # of a program
STACK_SIZE_LIMIT = 0  # CU_LIMIT_STACK_SIZE


class NoGpu(Exception):
    pass


class Run(ctypes.Structure):
    """Run of bench/native_gpu/run.h."""

    _fields_ = [
        ("memory", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64),
        ("text", ctypes.c_uint64),
        ("text_bytes", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64),
        ("argument_count", ctypes.c_uint64),
        ("memory_used", ctypes.c_uint64),
        ("text_used", ctypes.c_uint64),
        ("status", ctypes.c_int64),
    ]


class Gpu:
    """The first GPU, through NVIDIA's driver."""

    def __init__(self):
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
            self.call("cuInit", 0)
            device = ctypes.c_int()
            self.call("cuDeviceGet", ctypes.byref(device), 0)
        except (OSError, RuntimeError) as error:
            raise NoGpu(str(error)) from None
        context, block = ctypes.c_void_p(), ctypes.c_uint64()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuCtxSetLimit", STACK_SIZE_LIMIT, ctypes.c_size_t(STACK))
        self.call("cuMemAlloc_v2", ctypes.byref(block), ctypes.c_size_t(MEMORY_AT + MEMORY))
        self.device, self.block = device, block.value

    def close(self):
        self.call("cuMemFree_v2", ctypes.c_uint64(self.block))
        self.call("cuDevicePrimaryCtxRelease_v2", self.device)

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status:
            told = ctypes.c_char_p()
            self.driver.cuGetErrorString(status, ctypes.byref(told))
            raise RuntimeError(f"{name}: error {status}, {(told.value or b'unknown').decode()}")

    def write(self, address, data):
        data = bytes(data)
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))

    def read(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data.raw

    def launch(self, function):
        """Seconds of one thread, as the GPU's own events tell them."""
        events = [ctypes.c_void_p() for _ in range(2)]
        for event in events:
            self.call("cuEventCreate", ctypes.byref(event), 0)
        address = ctypes.c_uint64(self.block)
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(address))
        self.call("cuEventRecord", events[0], None)
        self.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, parameters, None)
        self.call("cuEventRecord", events[1], None)
        self.call("cuCtxSynchronize")
        milliseconds = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), *events)
        for event in events:
            self.call("cuEventDestroy_v2", event)
        return milliseconds.value / 1e3

    def run(self, ptx, arguments):
        """(seconds, output, exit status) of a program. A module of its own: its variables start anew."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"native_run")
        strings = b"".join(argument.encode() + b"\0" for argument in arguments)
        if len(strings) > TEXT_AT - ARGUMENTS_AT:
            raise RuntimeError("the arguments are too long")
        text = self.block + TEXT_AT
        run = Run(self.block + MEMORY_AT, MEMORY, text, TEXT, self.block + ARGUMENTS_AT, 0, 0, 0, -1)
        self.write(self.block, run)
        self.write(run.arguments, strings)
        self.launch(function)  # without arguments it does nothing, but the driver has loaded everything then
        run.argument_count = len(arguments)
        self.write(self.block, run)
        seconds = self.launch(function)
        done = Run.from_buffer_copy(self.read(self.block, ctypes.sizeof(Run)))
        output = self.read(text, min(done.text_used, TEXT)) if done.text_used else b""
        self.call("cuModuleUnload", module)
        return seconds, output, done.status


def measure(bench):
    """The native speed in guest instructions a second, and one lane's in units of it."""
    folder = bench.guests.parent / "native-gpu"
    if bench.options.device != "cuda":
        print("native    left out: it is about a GPU")
        return
    for _, program, _ in INTEGER:
        if not (folder / f"{program}.ptx").exists():
            print(f"native    left out: no {folder}/{program}.ptx (make -C bench native-gpu, with clang-19)")
            return
    lanes = {figure["name"]: figure for figure in bench.report["figures"] if figure["part"] == "one"}
    try:
        gpu = Gpu()
        figures = [measure_program(bench, gpu, folder / f"{row[1]}.ptx", row, lanes.get(row[0])) for row in INTEGER]
        gpu.close()
    except NoGpu as error:
        print(f"native    left out, no GPU: {error}")
        return
    except RuntimeError as error:
        raise SystemExit(f"gpu.py: native: {error}") from None
    bench.mean("native", "geometric mean", figures)
    for key, name in {"ratio": "lane/native, speeds", "ratio_whole": "lane/native, whole runs"}.items():
        bench.mean("native", name, [figure for figure in figures if key in figure], key)


def measure_program(bench, gpu, ptx, row, lane):
    name, program, arguments = row
    command = [bench.kvrm, "run", "--device", "cpu", "--stats=json", str(bench.guests / program), *arguments]
    _, output, counted = bench.run_for_output(command)
    seconds = []
    while len(seconds) < MOST_RUNS and sum(seconds) < MOST_SECONDS:
        taken, printed, status = gpu.run(ptx.read_bytes(), [program, *arguments])
        if status or printed != output:
            raise RuntimeError(f"{name}: status {status}, output {printed!r}; kvrm's on the CPU device: {output!r}")
        seconds.append(taken)
    median = statistics.median(seconds)
    speed = counted["instructions"] / median
    figures = {"ips": speed, "instructions": counted["instructions"], "seconds": median, "runs": len(seconds)}
    if lane:
        figures["ratio"] = lane["ips"] / speed
        if lane["instructions"] == counted["instructions"]:  # to the end
            figures["ratio_whole"] = median / lane["seconds"]
    told = " ".join(["native_run of", str(ptx), *arguments])
    return bench.add("native", name, told, **figures)
