/* Looked for by the build script of tflitec; all that it needs is declared in tensorflow/lite/c/c_api.h. */
