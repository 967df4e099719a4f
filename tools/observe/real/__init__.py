"""Other people's servers under the same recorder: which of the seven is each?"""
