/* Standard input, output and error, which the tool may have been started without. */
#ifndef TG_FORMAT_BASE_STANDARD_FILES_H
#define TG_FORMAT_BASE_STANDARD_FILES_H

/* Opens those of the descriptors 0 to 2 that are closed, so that no file that is opened later becomes one of
 * them: a trace that is standard input would be read as commands, one that is standard error would have
 * messages written into it. Standard input is at its end then; writing to the others fails, as it does to
 * closed ones. They are close-on-exec: a program that is started finds them closed, as it would without the
 * tool. First of all in main(). Does not return where there is nothing that can be opened. */
void tg_standard_files_open(void);

#endif
